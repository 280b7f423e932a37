mod labels;
mod rates;

use std::net::SocketAddr;

use axum::{extract::Path, routing::get, Json, Router};
use serde::Serialize;

#[derive(Serialize)]
struct Health {
    status: &'static str,
    version: &'static str,
}

async fn health() -> Json<Health> {
    Json(Health { status: "ok", version: env!("CARGO_PKG_VERSION") })
}

async fn quote(Path((country, grams)): Path<(String, u32)>) -> String {
    let zone = rates::zone_for(&country);
    // FIXME: the price is rounded before the surcharge is added
    format!("{:.2}", rates::price(zone, grams))
}

async fn label(Path(code): Path<String>) -> Vec<u8> {
    labels::render(&code, labels::Paper::A6)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    tracing_subscriber::fmt::init();
    let app = Router::new()
        .route("/health", get(health))
        .route("/quote/:country/:grams", get(quote))
        .route("/label/:code", get(label));
    let address: SocketAddr = "0.0.0.0:8093".parse()?;
    let listener = tokio::net::TcpListener::bind(address).await?;
    axum::serve(listener, app).await?;
    Ok(())
}
