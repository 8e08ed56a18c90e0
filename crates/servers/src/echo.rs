//! The echo role (RFC 862): every byte comes back.

use std::time::Duration;

use tokio::net::TcpListener;

/// Accepts connections for ever.
pub async fn serve(listener: TcpListener) {
    loop {
        match listener.accept().await {
            Ok((mut stream, _)) => {
                let _ = stream.set_nodelay(true);
                tokio::spawn(async move {
                    let (mut reader, mut writer) = stream.split();
                    let _ = tokio::io::copy(&mut reader, &mut writer).await;
                });
            }
            // Out of descriptors: let some connections end first.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
}
