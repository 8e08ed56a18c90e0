//! Fetches one page over and over with goose; prints one line of JSON: requests and response times in milliseconds.

use goose::prelude::*;

async fn page(user: &mut GooseUser) -> TransactionResult {
    let path = std::env::var("BENCH_PATH").unwrap_or_else(|_| "/".into());
    let mut answer = user.get(&path).await?;
    if let Ok(response) = &mut answer.response {
        while let Ok(Some(_)) = response.chunk().await {}
    }
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), GooseError> {
    let attack = GooseAttack::initialize()?.register_scenario(scenario!("page").register_transaction(transaction!(page)));
    let metrics = attack.execute().await?;
    let (mut requests, mut failed, mut times) = (0usize, 0usize, Vec::new());
    for request in metrics.requests.values() {
        requests += request.success_count + request.fail_count;
        failed += request.fail_count;
        times.extend(request.raw_data.times_us.iter().map(|(at, count)| (*at as f64 / 1e3, *count)));
    }
    println!("{}", serde_json::json!({ "requests": requests, "failed": failed, "times_ms": times }));
    Ok(())
}
