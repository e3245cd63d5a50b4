//! The built-in authorization server, as clients, browsers and attackers meet it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod clients;
mod flow;
mod pages;
mod processes;
mod refresh;
mod secrets;
mod support;
mod users;
