//! Settings of who may call.
//!
//! The doc comments are what `--help` prints, so they carry no markup.
#![allow(clippy::doc_markdown)]

use std::collections::BTreeMap;

use clap::ValueEnum;
use serde::Deserialize;

use crate::{
    auth::Options,
    values::{Issuer, ScopeName},
};

/// Who may call.
#[derive(Debug, Default, clap::Args, Deserialize)]
#[command(next_help_heading = "Authentication, [auth] in server.toml")]
#[serde(default, deny_unknown_fields)]
pub struct Auth {
    /// How callers are known: builtin (users and tokens of this server), oidc (tokens of an external
    /// issuer), none (anyone on this machine) [default: builtin]
    #[arg(
        long = "auth-mode",
        env = "TVIX_HTTP_AUTH_MODE",
        value_name = "MODE",
        hide_possible_values = true
    )]
    pub mode: Option<AuthMode>,
    /// An external issuer
    #[command(flatten)]
    pub oidc: Oidc,
    /// Tokens and clients of this server; in server.toml alone
    #[arg(skip)]
    pub builtin: Option<Options>,
}

/// How callers are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AuthMode {
    /// By tokens that this server issues.
    #[default]
    Builtin,
    /// By tokens of an external issuer.
    Oidc,
    /// Not at all: everyone on this machine is one user.
    None,
}

/// An external issuer.
#[derive(Debug, Default, Clone, clap::Args, Deserialize)]
#[command(
    next_help_heading = "External issuer, [auth.oidc] in server.toml; needs a build with the feature oidc"
)]
#[serde(default, deny_unknown_fields)]
pub struct Oidc {
    /// The issuer, exactly as in its tokens
    #[arg(long = "oidc-issuer", env = "TVIX_HTTP_OIDC_ISSUER", value_name = "URL")]
    pub issuer: Option<Issuer>,
    /// Whom tokens must be meant for [default: the address of /mcp]
    #[arg(long = "oidc-audience", env = "TVIX_HTTP_OIDC_AUDIENCE", value_name = "TEXT")]
    pub audience: Option<String>,
    /// The claim that names the user [default: sub]
    #[arg(long = "oidc-subject-claim", env = "TVIX_HTTP_OIDC_SUBJECT_CLAIM", value_name = "NAME")]
    pub subject_claim: Option<String>,
    /// The users who are let in, by that claim
    #[arg(
        long = "oidc-subjects",
        env = "TVIX_HTTP_OIDC_SUBJECTS",
        value_name = "LIST",
        value_delimiter = ','
    )]
    pub subjects: Option<Vec<String>>,
    /// Whether everyone is let in to whom the issuer gives a token: true or false [default: false]
    #[arg(
        long = "oidc-auto-provision",
        env = "TVIX_HTTP_OIDC_AUTO_PROVISION",
        value_name = "BOOL"
    )]
    pub auto_provision: Option<bool>,
    /// What the issuer calls our scopes; in server.toml alone
    #[arg(skip)]
    pub scopes: Option<BTreeMap<ScopeName, String>>,
}

impl Auth {
    pub(super) fn over(self, file: Self) -> Self {
        Self {
            mode: self.mode.or(file.mode),
            oidc: self.oidc.over(file.oidc),
            builtin: self.builtin.or(file.builtin),
        }
    }
}

impl Oidc {
    fn over(self, file: Self) -> Self {
        Self {
            issuer: self.issuer.or(file.issuer),
            audience: self.audience.or(file.audience),
            subject_claim: self.subject_claim.or(file.subject_claim),
            subjects: self.subjects.or(file.subjects),
            auto_provision: self.auto_provision.or(file.auto_provision),
            scopes: self.scopes.or(file.scopes),
        }
    }
}
