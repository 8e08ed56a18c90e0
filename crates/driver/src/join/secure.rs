//! TLS between drivers that know one token: both ends show the one public key that follows from it (raw public keys,
//! RFC 7250) and prove that they have its private half. Who does not know the token is told nothing.

use std::fmt;
use std::sync::Arc;

use anyhow::{ensure, Context, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::crypto::ring::{default_provider, sign};
use rustls::crypto::{verify_tls13_signature_with_raw_key, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, PeerIncompatible, ServerConfig, SignatureScheme,
};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Variable with the token.
pub const TOKEN: &str = "LOADSTONE_JOIN_TOKEN";
/// Fewest characters of a token: whoever connects could try shorter ones at leisure.
const LEAST_CHARACTERS: usize = 22;
/// What keys are made of beside the token, so that no other program's key is the same.
const PURPOSE: &[u8] = b"loadstone drivers that join, 1\0";
/// An Ed25519 private key in PKCS #8 up to its 32 bytes (RFC 8410, section 7).
const PKCS8: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];

/// What drivers that may join know.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// From the environment. An error where it is missing or too short.
    pub fn from_environment() -> Result<Self> {
        let text = std::env::var(TOKEN).ok().filter(|text| !text.is_empty());
        Self::new(text.with_context(|| format!("drivers that join need the token in {TOKEN}"))?)
    }

    /// An error for one that could be guessed.
    pub fn new(text: String) -> Result<Self> {
        ensure!(text.len() >= LEAST_CHARACTERS, "the token in {TOKEN} has fewer than {LEAST_CHARACTERS} characters");
        Ok(Token(text))
    }

    /// The leader's end.
    pub fn acceptor(&self) -> Result<TlsAcceptor> {
        let (key, peer) = self.key()?;
        let config = ServerConfig::builder_with_provider(peer.provider.clone()).with_protocol_versions(&[&TLS13])?;
        let config = config.with_client_cert_verifier(peer);
        Ok(TlsAcceptor::from(Arc::new(
            config.with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(key))),
        )))
    }

    /// The end of a driver that joins.
    pub fn connector(&self) -> Result<TlsConnector> {
        let (key, peer) = self.key()?;
        let config = ClientConfig::builder_with_provider(peer.provider.clone()).with_protocol_versions(&[&TLS13])?;
        let config = config.dangerous().with_custom_certificate_verifier(peer);
        Ok(TlsConnector::from(Arc::new(
            config.with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(key))),
        )))
    }

    /// The pair of keys that follows from it, and who believes in that alone.
    fn key(&self) -> Result<(Arc<CertifiedKey>, Arc<Peer>)> {
        let seed = ring::digest::digest(&ring::digest::SHA256, &[PURPOSE, self.0.as_bytes()].concat());
        let der = [&PKCS8[..], seed.as_ref()].concat();
        let key = sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(der))?;
        let public = key.public_key().context("a key without its public half")?.to_vec();
        let certified = CertifiedKey::new(vec![CertificateDer::from(public.clone())], key);
        Ok((Arc::new(certified), Arc::new(Peer { public, provider: Arc::new(default_provider()) })))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token")
    }
}

/// Believes who has one key.
#[derive(Debug)]
struct Peer {
    public: Vec<u8>,
    provider: Arc<CryptoProvider>,
}

impl Peer {
    fn knows(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        match key.as_ref() == self.public {
            true => Ok(()),
            false => Err(Error::General("it has another token".into())),
        }
    }

    fn proves(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature_with_raw_key(message, &SubjectPublicKeyInfoDer::from(key.as_ref()), signed, algorithms)
    }
}

/// TLS 1.2 is never spoken.
fn too_old() -> Error {
    PeerIncompatible::Tls12NotOffered.into()
}

impl ServerCertVerifier for Peer {
    fn verify_server_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.knows(key).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.proves(message, key, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Peer {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        key: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.knows(key).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(too_old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.proves(message, key, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
