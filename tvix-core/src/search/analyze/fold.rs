//! Spellings that are one to a reader, made one.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

/// `text` as titles are compared: compatible characters made one (NFKC), lower case, without Latin,
/// Greek and Cyrillic accents, runs of white space made one space and trimmed. Punctuation stays.
pub fn fold(text: &str) -> String {
    let lower: String = normalise(text).chars().flat_map(char::to_lowercase).collect();
    let mut folded = String::with_capacity(lower.len());
    for word in lower.split_whitespace() {
        if !folded.is_empty() {
            folded.push(' ');
        }
        folded.push_str(word);
    }
    folded
}

/// The folding of [`fold`] that keeps case and white space, which the tokenizer still needs.
///
/// Accents are taken off the decomposed text and the rest is composed again, so that the voicing
/// marks of Kana and the letters of Hangul survive.
pub(super) fn normalise(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut letter = '\0';
    let bare = text.nfkd().filter(move |&char| {
        let accent = is_accent(char) && !(char == '\u{306}' && matches!(letter, 'и' | 'И'));
        if !is_accent(char) {
            letter = char;
        }
        !accent
    });
    let mut plain = String::with_capacity(text.len());
    for char in bare.nfc() {
        match plain_letters(char) {
            Some(letters) => plain.push_str(letters),
            None => plain.push(char),
        }
    }
    Cow::Owned(plain)
}

/// Marks that readers leave out: the accents of European scripts, and the points of Hebrew and Arabic
/// with the stroke that only stretches a word.
fn is_accent(char: char) -> bool {
    matches!(char,
        '\u{300}'..='\u{36f}'
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Letters and signs that do not decompose but are typed as others.
fn plain_letters(char: char) -> Option<&'static str> {
    Some(match char {
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'ħ' => "h",
        'Ħ' => "H",
        'ŧ' => "t",
        'Ŧ' => "T",
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'þ' => "th",
        'Þ' => "TH",
        'ı' => "i",
        'ς' => "σ",
        '’' | '‘' | 'ʼ' => "'",
        '‐' | '‑' => "-",
        // Invisible: a soft hyphen or a joiner inside a word must not cut it.
        '\u{ad}' | '\u{200b}' | '\u{200c}' | '\u{200d}' | '\u{2060}' | '\u{feff}' => "",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_text_become_one() {
        for (text, folded) in [
            ("Café  Zürich", "cafe zurich"),
            ("re\u{301}sume\u{301}", "resume"),
            ("ＡＰＩ　１２０", "api 120"),
            ("ﾊﾟｿｺﾝ", "パソコン"),
            ("がぎ", "がぎ"),
            ("배포일정", "배포일정"),
            ("Straße ŁÓDŹ Øre Ærø œuvre", "strasse lodz ore aero oeuvre"),
            ("İstanbul ısı", "istanbul isi"),
            ("ВСТРЕЧА Мой", "встреча мой"),
            ("ΟΔΟΣ οδός", "οδοσ οδοσ"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد الكِتَابُ", "محمد الكتاب"),
            (" C++,\tGB/s! ", "c++, gb/s!"),
            ("", ""),
        ] {
            assert_eq!(fold(text), folded, "{text}");
            assert_eq!(fold(folded), folded, "{folded} again");
        }
    }
}
