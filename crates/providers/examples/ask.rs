//! Asks a model and prints its answer as it comes.
//!
//! `ANTHROPIC_API_KEY=… cargo run -p charla-providers --example ask -- anthropic/claude-sonnet-5 "Hello"`
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;
use std::sync::Arc;

use charla_proto::{Content, ContentGenerator, GenerateRequest, StreamEvent};
use charla_providers::endpoint::Target;
use charla_providers::layers::{Link, Resilient, RetryPolicy};
use charla_providers::{Client, Credential, Generator, NetworkOptions, catalog};
use futures_util::StreamExt;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(reference), Some(prompt)) = (args.next(), args.next()) else {
        return Err("usage: ask PROVIDER/MODEL PROMPT".into());
    };
    let (provider, model) = catalog::resolve(&reference, |name| catalog::provider(name).is_some())?;
    let row = catalog::provider(&provider).ok_or("no such provider")?;
    let mut endpoint = row.endpoint();
    if let Ok(base_url) = std::env::var("ASK_BASE_URL") {
        endpoint.base_url = base_url;
    }
    let key = row.key_env.iter().find_map(|name| std::env::var(name).ok());
    let credential = key.map_or(Credential::None, |key| Credential::Key(key.into()));

    let target = Target::new(Arc::new(endpoint), catalog::model(&provider, &model));
    let client = Client::new(NetworkOptions::default())?;
    let generator = Arc::new(Generator::new(target, credential, client));
    let link = Link { reference, model: model.clone(), generator };
    let generator = Resilient::new(vec![link], RetryPolicy::default());

    let request = GenerateRequest::new(model, vec![Arc::new(Content::user(prompt))]);
    let mut stream = generator.stream(&request).await?;
    while let Some(event) = stream.next().await {
        match event? {
            StreamEvent::Chunk(chunk) => print!("{}", chunk.text()),
            StreamEvent::Retry(notice) => println!("\n[withdrawn: {}]", notice.error),
            StreamEvent::ModelSwitched(switch) => println!("[{} goes on]", switch.to),
        }
    }
    println!();
    Ok(())
}
