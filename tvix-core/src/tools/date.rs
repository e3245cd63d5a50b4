//! `get_current_date`.

use async_trait::async_trait;
use serde_json::json;

use super::{
    Arguments, CallContext, Reply, Tool, Toolset,
    definition::{Hints, Spec},
};
use crate::{Result, Tvix};

/// Tells the date and time where the user is.
pub(super) struct GetCurrentDate;

static SPEC: Spec = Spec {
    name: "get_current_date",
    title: "Current date",
    toolset: Toolset::Memory,
    hints: Hints::READ,
    description: "Current date and time in the user's time zone and in UTC. Call it before a memory \
        search by date, to turn words like \"yesterday\" or \"this week\" into date_from and date_to.",
    names_projects: false,
    params: &[],
    output: || {
        let field = json!({"type": "string"});
        json!({
            "type": "object",
            "properties": {"now_utc": field, "timezone": field, "local_date": field, "local_time": field},
            "required": ["now_utc", "timezone", "local_date", "local_time"],
        })
    },
};

#[async_trait]
impl Tool for GetCurrentDate {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    async fn run(&self, tvix: &Tvix, _: &CallContext, _: Arguments) -> Result<Reply> {
        let zone = tvix.zone()?;
        let now = tvix.clock().now();
        let (local_date, local_time) = zone.local(now);
        let timezone = zone.name();
        Ok(Reply {
            text: format!(
                "now_utc: {now}\ntimezone: {timezone}\nlocal_date: {local_date}\nlocal_time: {local_time}"
            ),
            structured: json!({
                "now_utc": now, "timezone": timezone, "local_date": local_date, "local_time": local_time,
            }),
        })
    }
}
