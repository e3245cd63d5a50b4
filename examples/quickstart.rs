//! Opens a data folder, remembers something and finds it again.
//!
//! `cargo run -p tvix-core --example quickstart [FOLDER]`
#![allow(clippy::print_stdout, reason = "an example shows what it found")]

// README: begin
use tvix_core::{
    Result, Search, Tvix,
    memory::NewMemory,
    search::Query,
    storage::{Filter, Kind, Page},
    types::QueryText,
};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let folder = std::env::args_os().nth(1).map_or_else(temporary, Into::into);
    let tvix = Tvix::open(folder)?;

    let memory = NewMemory::new("Prefers rye bread, sliced thin")?.in_project("bakery")?;
    tvix.memory().add(memory).await?; // on return it is on disk and the next search finds it

    let query = Query {
        kind: Kind::Memory,
        text: QueryText::new("slices of rye")?,
        filter: Filter::default(),
        page: Page::first(5),
    };
    for hit in tvix.search(&query).await?.hits {
        println!("{:.2}  {}", hit.score.unwrap_or_default(), hit.document.text);
    }
    Ok(())
}

fn temporary() -> std::path::PathBuf {
    std::env::temp_dir().join("tvix-quickstart")
}
// README: end
