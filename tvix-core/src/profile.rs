//! The user's profile: a small TOML file that people edit by hand.

use std::{fs, io, path::PathBuf};

use serde::{Deserialize, Serialize};
use toml_edit::{Array, DocumentMut, value};

use crate::{Error, Result, files, types::TimeZone};

/// What the user says about themself. Unset fields are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Profile {
    /// How to address the user: at most 200 characters.
    pub display_name: String,
    /// What they do: at most 200 characters.
    pub role: String,
    /// At most 50 interests of at most 100 characters each.
    pub interests: Vec<String>,
    /// What every agent should heed: at most 4,000 characters.
    pub instructions: String,
    /// IANA name of their time zone; empty: UTC.
    pub timezone: String,
}

const NAME_MAX: usize = 200;
const INTERESTS_MAX: usize = 50;
const INTEREST_MAX: usize = 100;
const INSTRUCTIONS_MAX: usize = 4_000;

impl Profile {
    /// The keys of the file, in the order shown.
    pub const KEYS: [&'static str; 5] =
        ["display_name", "role", "interests", "instructions", "timezone"];

    /// The time zone; UTC when none is set.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when there is no zone of that name.
    pub fn zone(&self) -> Result<TimeZone> {
        if self.timezone.is_empty() { Ok(TimeZone::UTC) } else { TimeZone::named(&self.timezone) }
    }

    /// `items` as the one text that [`ProfileSource::set`] takes for `interests`.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] when one holds a comma, which would make two of it.
    pub fn list(items: &[String]) -> Result<String> {
        match items.iter().find(|item| item.contains(',')) {
            None => Ok(items.join(",")),
            Some(item) => {
                let reason = format!("got {item:?}, send interests without commas");
                Err(Error::invalid("interests", reason))
            }
        }
    }

    fn check(self) -> Result<Self> {
        let limits = [
            ("display_name", &self.display_name, NAME_MAX),
            ("role", &self.role, NAME_MAX),
            ("instructions", &self.instructions, INSTRUCTIONS_MAX),
        ];
        for (key, text, max) in limits {
            check_length(key, text, max)?;
        }
        if self.interests.len() > INTERESTS_MAX {
            let reason =
                format!("got {} of them, send at most {INTERESTS_MAX}", self.interests.len());
            return Err(Error::invalid("interests", reason));
        }
        self.interests.iter().try_for_each(|text| check_length("interests", text, INTEREST_MAX))?;
        self.zone()?;
        Ok(self)
    }
}

fn check_length(key: &str, text: &str, max: usize) -> Result<()> {
    let length = text.chars().count();
    if length > max {
        return Err(Error::invalid(
            key,
            format_args!("got {length} characters, send at most {max}"),
        ));
    }
    Ok(())
}

/// Where a profile is kept.
#[derive(Debug, Clone)]
pub enum ProfileSource {
    /// Given by the embedding program.
    Fixed(Profile),
    /// A `profile.toml`, read anew on every use, since people edit it. An absent file is an empty
    /// profile.
    File(PathBuf),
}

impl Default for ProfileSource {
    fn default() -> Self {
        Self::Fixed(Profile::default())
    }
}

impl ProfileSource {
    /// The profile as it is now.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] naming the file, line and column of what cannot be read in it.
    pub fn read(&self) -> Result<Profile> {
        match self {
            Self::Fixed(profile) => profile.clone().check(),
            Self::File(path) => parse(&read_file(path)?),
        }
    }

    /// Sets `key` to `text` and leaves everything else in the file, comments included, as it is.
    /// `interests` are separated by commas.
    ///
    /// # Errors
    /// [`Error::InvalidInput`] for an unknown key, a value beyond its limit, or a file that cannot
    /// be read; [`Error::Conflict`] for a profile that is not kept in a file. Nothing is changed.
    pub fn set(&self, key: &str, text: &str) -> Result<Profile> {
        let Self::File(path) = self else {
            return Err(Error::conflict(
                "this profile is given by the program and not kept in a file",
            ));
        };
        if !Profile::KEYS.contains(&key) {
            let reason = format!("got {key:?}, send one of {}", Profile::KEYS.join(", "));
            return Err(Error::invalid("key", reason));
        }
        let before = read_file(path)?;
        parse(&before)?;
        let mut edited: DocumentMut = before.parse().map_err(|error| broken(&error))?;
        edited[key] = if key == "interests" { value(split_list(text)) } else { value(text.trim()) };
        let after = edited.to_string();
        let profile = parse(&after)?;
        if let Some(folder) = path.parent() {
            let failed = |error| Error::backend(format!("making {}", folder.display()), error);
            files::make_private(folder).map_err(failed)?;
        }
        files::replace(path, after.as_bytes())?;
        Ok(profile)
    }
}

fn split_list(text: &str) -> Array {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
}

fn read_file(path: &PathBuf) -> Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(Error::invalid("profile.toml", "the file is not UTF-8 text"))
        }
        other => other.map_err(|error| Error::backend("reading profile.toml", error)),
    }
}

fn parse(text: &str) -> Result<Profile> {
    let profile: Profile = toml::from_str(text).map_err(|error| broken(&error))?;
    profile.check().map_err(|error| Error::invalid("profile.toml", error))
}

/// The TOML reader's message names line and column; one line of it is enough.
fn broken(error: &impl ToString) -> Error {
    let text = error.to_string();
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains('|')).map(str::trim).collect();
    let reason = lines.join(": ");
    Error::invalid(
        "profile.toml",
        format_args!("{reason}; mend the file by hand, it was not changed"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, ProfileSource) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("profile.toml");
        fs::write(&path, text).expect("written");
        (folder, ProfileSource::File(path))
    }

    #[test]
    fn an_absent_file_is_an_empty_profile() {
        let source = ProfileSource::File("/nonexistent/profile.toml".into());
        assert_eq!(source.read().ok(), Some(Profile::default()));
    }

    #[test]
    fn a_broken_file_is_reported_with_its_line_and_never_overwritten() {
        let text = "display_name = \"Robin\"\ntimezone = \n";
        let (folder, source) = file(text);
        for error in [source.read().err(), source.set("role", "cook").err()] {
            let error = error.map(|e| e.to_string()).unwrap_or_default();
            assert!(error.contains("profile.toml") && error.contains("line 2, column"), "{error}");
        }
        let now = fs::read_to_string(folder.path().join("profile.toml")).expect("read");
        assert_eq!(now, text);
    }

    #[test]
    fn setting_a_key_keeps_comments_and_other_keys() {
        let (folder, source) = file("# mine\nrole = \"cook\" # since May\n");
        source.set("interests", "bread, salt ,").expect("set");
        source.set("timezone", "Europe/Lisbon").expect("set");
        let now = fs::read_to_string(folder.path().join("profile.toml")).expect("read");
        assert!(now.starts_with("# mine\nrole = \"cook\" # since May\n"), "{now}");
        assert_eq!(source.read().expect("read").interests, ["bread", "salt"]);
    }

    #[test]
    fn a_list_of_interests_is_set_as_one_text() {
        let (_folder, source) = file("");
        let list = Profile::list(&["bread".into(), "salt".into()]).expect("a list");
        assert_eq!(source.set("interests", &list).expect("set").interests, ["bread", "salt"]);
        assert!(Profile::list(&["bread, salt".into()]).is_err());
    }

    #[test]
    fn values_beyond_their_limits_change_nothing() {
        let (folder, source) = file("role = \"cook\"\n");
        for (key, value) in [
            ("display_name", "é".repeat(201)),
            ("interests", vec!["x"; 51].join(",")),
            ("interests", "x".repeat(101)),
            ("instructions", "x".repeat(4_001)),
            ("timezone", "Mars/Olympus".to_owned()),
            ("age", "7".to_owned()),
        ] {
            assert!(source.set(key, &value).is_err(), "{key}");
        }
        let now = fs::read_to_string(folder.path().join("profile.toml")).expect("read");
        assert_eq!(now, "role = \"cook\"\n");
    }
}
