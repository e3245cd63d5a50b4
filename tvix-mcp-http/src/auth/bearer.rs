//! The token of a request.

use axum::http::{HeaderMap, header};

use super::Denied;

/// The longest token that is looked at, in bytes; tokens of other issuers can be long.
const LONGEST: usize = 8 << 10;

/// The token of `Authorization: Bearer` (RFC 6750 2.1). The other two places of that document, form and
/// query, are not read: addresses end up in logs.
///
/// # Errors
/// [`Denied::NoToken`] without the header, [`Denied::BadToken`] when it is of another kind or comes twice.
pub fn bearer(headers: &HeaderMap) -> Result<&str, Denied> {
    let mut lines = headers.get_all(header::AUTHORIZATION).into_iter();
    let line = lines.next().ok_or(Denied::NoToken)?;
    if lines.next().is_some() {
        return Err(Denied::BadToken("Authorization came twice; send it once"));
    }
    let wrong = Denied::BadToken("Authorization: send Bearer and a token");
    let line = line.to_str().map_err(|_| wrong.clone())?;
    let (scheme, token) = line.split_once(' ').ok_or(wrong.clone())?;
    let token = token.trim();
    let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= LONGEST;
    if fits { Ok(token) } else { Err(wrong) }
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, header};

    use super::{Denied, bearer};

    fn read(lines: &[&'static str]) -> Result<String, Denied> {
        let mut headers = HeaderMap::new();
        for line in lines {
            headers.append(header::AUTHORIZATION, line.parse().unwrap());
        }
        bearer(&headers).map(str::to_owned)
    }

    #[test]
    fn one_bearer_token_is_read_and_nothing_else() {
        assert_eq!(read(&["Bearer abc"]), Ok("abc".to_owned()));
        assert_eq!(read(&["bearer  abc "]), Ok("abc".to_owned()));
        assert_eq!(read(&[]), Err(Denied::NoToken));
        for bad in [&["Basic abc"][..], &["Bearer"], &["Bearer "], &["Bearer a", "Bearer b"]] {
            assert!(matches!(read(bad), Err(Denied::BadToken(_))), "{bad:?}");
        }
    }
}
