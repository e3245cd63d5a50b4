//! Where a client may be sent back to (RFC 8252; OAuth 2.1 2.3).

use std::fmt;

use url::{Host, Url};

use crate::auth::settings::is_loopback;

/// Schemes that run, read or send something instead of handing an answer to a program.
const NEVER: [&str; 13] = [
    "javascript",
    "data",
    "file",
    "vbscript",
    "blob",
    "about",
    "filesystem",
    "view-source",
    "ftp",
    "ws",
    "wss",
    "mailto",
    "jar",
];

/// A redirect URI, kept byte for byte: `https` on any host, `http` on this machine, or a scheme of a
/// program of its own (`cursor://…`).
///
/// Hosts are not listed anywhere: a list would shut out the next client. Safety comes from the exact
/// match, PKCE and the consent page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectUri {
    text: String,
    url: Url,
}

impl RedirectUri {
    /// Reads one, at most 2,048 characters.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            let shown: String = text.chars().take(100).collect();
            Err(format!("{shown:?}: {reason}"))
        };
        if text.len() > 2048 || !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return wrong("send at most 2,048 visible ASCII characters without a backslash");
        }
        let Ok(url) = Url::parse(text) else { return wrong("send an absolute address") };
        if text.contains('#') {
            return wrong("send it without a fragment");
        }
        if !url.username().is_empty() || url.password().is_some() {
            return wrong("send it without user and password");
        }
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            "http" => {
                return wrong(
                    "http is for this machine only (127.0.0.1, [::1], localhost); send https",
                );
            }
            scheme if NEVER.contains(&scheme) => return wrong("such a scheme is never allowed"),
            _ => {}
        }
        Ok(Self { text: text.to_owned(), url })
    }

    /// The text as it was sent.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether `asked` is this one: the same text, or on this machine the same but for the port, which
    /// programs choose when they start (RFC 8252 7.3).
    pub fn allows(&self, asked: &Self) -> bool {
        if self.text == asked.text {
            return true;
        }
        let (a, b) = (&self.url, &asked.url);
        self.is_loopback()
            && asked.is_loopback()
            && a.host_str() == b.host_str()
            && a.path() == b.path()
            && a.query() == b.query()
    }

    /// Whether it leads to a program on the user's own computer by `http`.
    pub fn is_loopback(&self) -> bool {
        self.url.scheme() == "http" && is_loopback(&self.url)
    }

    /// Whether it leads to a web site.
    pub fn is_web(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// What a person should know it by: the host, with the port if there is one, or the scheme.
    pub fn shown(&self) -> String {
        match (self.url.host(), self.url.port()) {
            (Some(host), Some(port)) if self.is_http() => format!("{}:{port}", host_text(&host)),
            (Some(host), None) if self.is_http() => host_text(&host),
            _ => format!("{}:", self.url.scheme()),
        }
    }

    fn is_http(&self) -> bool {
        matches!(self.url.scheme(), "http" | "https")
    }
}

/// A host in ASCII, so that a look-alike in another script is seen as what it is.
fn host_text(host: &Host<&str>) -> String {
    host.to_string()
}

impl fmt::Display for RedirectUri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::RedirectUri;

    fn uri(text: &str) -> RedirectUri {
        RedirectUri::parse(text).unwrap()
    }

    #[test]
    fn real_clients_are_accepted() {
        for good in [
            "https://claude.ai/api/mcp/auth_callback",
            "http://127.0.0.1:33418",
            "http://localhost:8787/callback",
            "http://[::1]:9/x",
            "cursor://anysphere.cursor-mcp/oauth/callback",
            "com.example.app:/oauth",
        ] {
            assert_eq!(uri(good).as_str(), good);
        }
    }

    #[test]
    fn dangerous_ones_are_refused() {
        for bad in [
            "http://evil.example/cb",
            "javascript:alert(1)",
            "JavaScript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "https://ok.example/cb#x",
            "https://ok.example/cb#",
            "https://user@ok.example/cb",
            "/relative",
            "https://a\\b/",
            "https://a/ b",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
        ] {
            assert!(RedirectUri::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn only_the_port_of_this_machine_may_differ() {
        let registered = uri("http://127.0.0.1/callback");
        assert!(registered.allows(&uri("http://127.0.0.1:51999/callback")));
        for other in [
            "http://127.0.0.1:51999/other",
            "http://localhost:51999/callback",
            "http://127.0.0.1:51999/callback?x=1",
            "https://127.0.0.1/callback",
        ] {
            assert!(!registered.allows(&uri(other)), "{other}");
        }
        let web = uri("https://a.example/cb");
        assert!(!web.allows(&uri("https://a.example:8443/cb")));
        assert!(!web.allows(&uri("https://a.example/cb/")));
    }
}
