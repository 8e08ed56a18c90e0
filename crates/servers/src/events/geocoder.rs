//! Where an address is: asked of a service, which here stands for one. It knows one place, and says so at once.

use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::StatusCode;
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use percent_encoding::{utf8_percent_encode, NON_ALPHANUMERIC};

use crate::content::escape;
use crate::front::answer::{refusal, text, Answer};
use crate::front::{Request, Role};
use crate::web::form::Form;

/// A place on earth, in millionths of a degree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub latitude: i64,
    pub longitude: i64,
}

/// The one that is told of every address.
const EVERYWHERE: Place = Place { latitude: 37_395_000, longitude: -121_952_000 };
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_ANSWER_BYTES: usize = 64 * 1024;

/// What applications ask: this program itself, or a service elsewhere.
#[derive(Clone, Debug)]
pub enum Geocoder {
    Within,
    At { base: String, client: Client<HttpConnector, Empty<Bytes>> },
}

impl Geocoder {
    /// The service at `host:port`, or none of its own.
    pub fn new(base: Option<&str>) -> Self {
        let Some(base) = base else { return Geocoder::Within };
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Geocoder::At { base: base.to_owned(), client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// Where an address is.
    pub async fn find(&self, street: &str, city: &str, zip: &str) -> Result<Place> {
        let Geocoder::At { base, client } = self else { return Ok(EVERYWHERE) };
        let [street, city, zip] = [street, city, zip].map(|text| utf8_percent_encode(text, NON_ALPHANUMERIC));
        let uri = format!("http://{base}/geocode?street={street}&city={city}&zip={zip}").parse()?;
        let exchange = async {
            let answer = client.get(uri).await?;
            let body = Limited::new(answer.into_body(), MOST_ANSWER_BYTES).collect().await;
            body.map(|body| body.to_bytes()).map_err(|error| anyhow::anyhow!(error))
        };
        let body = tokio::time::timeout(PATIENCE, exchange).await.context("the geocoder does not answer")??;
        read(&String::from_utf8_lossy(&body)).context("the geocoder's answer names no place")
    }
}

/// A place from an answer.
fn read(answer: &str) -> Option<Place> {
    let degrees = |name: &str| -> Option<i64> {
        let from = answer.find(&format!("<{name}>"))? + name.len() + 2;
        let text = &answer[from..from + answer[from..].find('<')?];
        text.parse::<f64>().ok().map(|degrees| (degrees * 1e6).round() as i64)
    };
    Some(Place { latitude: degrees("Latitude")?, longitude: degrees("Longitude")? })
}

/// The service: the address that it was asked for, with its one place.
#[derive(Debug)]
pub struct GeocoderService;

impl Role for GeocoderService {
    async fn answer(&self, request: Request) -> Answer {
        if request.path != "/geocode" {
            return refusal(StatusCode::NOT_FOUND);
        }
        let form = Form::of(&request);
        let [street, city, zip] = ["street", "city", "zip"].map(|name| escape(form.text(name)));
        let degrees = |millionths: i64| millionths as f64 / 1e6;
        let Place { latitude, longitude } = EVERYWHERE;
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Results><Result><Latitude>{}</Latitude><Longitude>{}</Longitude>\
             <Address>{street}</Address><City>{city}</City><Zip>{zip}</Zip></Result></Results>\n",
            degrees(latitude),
            degrees(longitude),
        );
        text(StatusCode::OK, "text/xml", Bytes::from(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_or_missed() {
        let answer = "<Result><Latitude>1.5</Latitude><Longitude>-2.25</Longitude></Result>";
        assert_eq!(read(answer), Some(Place { latitude: 1_500_000, longitude: -2_250_000 }));
        assert_eq!(read("<Latitude>1.5"), None);
        assert_eq!(read("<Latitude>x</Latitude><Longitude>1</Longitude>"), None);
    }
}
