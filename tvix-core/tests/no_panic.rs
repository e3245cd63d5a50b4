//! No text and no arguments, however strange, make a tool panic, and a refused call stores nothing.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use tvix_core::{
    Tvix,
    tools::{CallContext, Service},
};

const TOOLS: [&str; 7] = [
    "add_memory",
    "search_memory",
    "get_current_date",
    "add_wiki",
    "search_wiki",
    "update_wiki",
    "delete_wiki",
];
const NAMES: [&str; 14] = [
    "content",
    "project",
    "metadata",
    "query",
    "limit",
    "offset",
    "date_from",
    "date_to",
    "timezone",
    "sources",
    "title",
    "collection",
    "doc_id",
    "surprise",
];

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~\n\"“”<>/\\\\]{0,60}",
        "(\\PC){0,40}",
        Just("0190b6f2-3a7e-7c11-8a55-0123456789ab".to_owned()),
        Just("-9999-01-01".to_owned()),
        Just("9999-12-31T23:59:59.999999999Z".to_owned()),
        Just("America/New_York".to_owned()),
        Just("<private>a</private> 字 e\u{301} \u{202e} \u{0}".to_owned()),
        Just("\"a phrase\" -- 'OR 1=1".to_owned()),
        (0_usize..60_000).prop_map(|n| "ü ".repeat(n / 2)),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((text(), inner), 0..4)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

fn arguments() -> impl Strategy<Value = Value> {
    let named = (prop::sample::select(NAMES.to_vec()), value());
    let object = prop::collection::vec(named, 0..6).prop_map(|fields| {
        Value::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    });
    prop_oneof![8 => object, 1 => value()]
}

fn calls() -> impl Strategy<Value = Vec<(&'static str, Value)>> {
    prop::collection::vec((prop::sample::select(TOOLS.to_vec()), arguments()), 1..8)
}

async fn counts(tvix: &Tvix) -> (Value, Value) {
    let context = CallContext::default();
    let list = async |tool| {
        let reply =
            tvix.call(&context, tool, json!({"query": "", "limit": 20})).await.expect("lists");
        reply.structured["results"].clone()
    };
    (list("search_memory").await, list("search_wiki").await)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn no_arguments_make_a_tool_panic(calls in calls()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let tvix = Tvix::in_memory();
            for (tool, arguments) in calls {
                let before = counts(&tvix).await;
                let refused = tvix.call(&CallContext::default(), tool, arguments).await.is_err();
                if refused {
                    assert_eq!(counts(&tvix).await, before, "{tool} was refused and changed something");
                }
            }
        });
    }
}
