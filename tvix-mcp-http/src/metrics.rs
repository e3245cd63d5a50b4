//! Counts for Prometheus, by route and tool: never by user, so that they say nothing about anyone.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    extract::State,
    http::header::CONTENT_TYPE,
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::{Registry, Unit},
};

use crate::router::App;

/// The text format of `OpenMetrics`, which Prometheus reads.
const FORMAT: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Upper bounds of times, in seconds.
const BUCKETS: [f64; 11] = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Answer, Counter>,
    seconds: Family<Route, Histogram>,
    calls: Family<Tool, Counter>,
    in_flight: Gauge,
    connections: Gauge,
    open_users: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answer {
    route: String,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Tool {
    tool: String,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("tvix_http");
        let requests = Family::<Answer, Counter>::default();
        let seconds = Family::<Route, Histogram>::new_with_constructor(|| Histogram::new(BUCKETS));
        let calls = Family::<Tool, Counter>::default();
        let (in_flight, connections, open_users) =
            (Gauge::default(), Gauge::default(), Gauge::default());
        registry.register("requests", "Requests answered", requests.clone());
        registry.register_with_unit(
            "request_duration",
            "Time to an answer",
            Unit::Seconds,
            seconds.clone(),
        );
        registry.register("tool_calls", "Calls of tools", calls.clone());
        registry.register("calls_in_flight", "Calls being answered", in_flight.clone());
        registry.register("connections", "Connections held", connections.clone());
        registry.register("open_users", "Folders of users that are open", open_users.clone());
        Self { registry, requests, seconds, calls, in_flight, connections, open_users }
    }

    /// Counts one answer.
    pub(crate) fn answered(&self, route: &str, status: u16, took: Duration) {
        let route = route.to_owned();
        self.requests.get_or_create(&Answer { route: route.clone(), status }).inc();
        self.seconds.get_or_create(&Route { route }).observe(took.as_secs_f64());
    }

    /// Counts one call of a tool that there is.
    pub(crate) fn called(&self, tool: &str) {
        self.calls.get_or_create(&Tool { tool: tool.to_owned() }).inc();
    }
}

/// `/metrics`, for an address of its own.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new().route("/metrics", get(show)).with_state(app)
}

async fn show(State(app): State<Arc<App>>) -> Response {
    let metrics = &app.metrics;
    let gauge = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    metrics.in_flight.set(gauge(app.in_flight.count()));
    metrics.connections.set(gauge(app.handle.connection_count()));
    metrics.open_users.set(gauge(app.tenants.count()));
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = encode(&mut text, &metrics.registry);
    ([(CONTENT_TYPE, FORMAT)], text).into_response()
}
