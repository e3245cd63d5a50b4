//! What is written: texts that tell from one word whether they are whole.

/// In every record.
pub(crate) const COMMON: &str = "everyrecord";

/// A word that no other number has, nor any stem of it.
pub(crate) fn word(mut number: u64) -> String {
    let mut word = String::from("w");
    for _ in 0..6 {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    word + "q"
}

/// The text of the record `word`: mostly short, sometimes long.
pub(crate) fn content(word: &str) -> String {
    let sum = word.bytes().fold(7_usize, |sum, byte| sum * 31 % 9973 + usize::from(byte));
    let fillers = if sum.is_multiple_of(40) { 3000 } else { sum % 60 };
    format!("{COMMON} {word}{}", " filler".repeat(fillers))
}

pub(crate) fn title(word: &str) -> String {
    format!("Title {word}")
}
