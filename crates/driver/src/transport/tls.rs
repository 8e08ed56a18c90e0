//! TLS: what the driver trusts, and a fresh session memory for every simulated user.

use std::sync::Arc;

use anyhow::{Context, Result};
use loadstone_schedule::plan::{Identity, Protocol, Trust};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_name, Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CipherSuite, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedCipherSuite};

use super::session_memory::SessionMemory;

/// The configuration all users share, without a session memory.
pub fn shared_config(trust: &Trust, identity: Option<&Identity>, protocol: Protocol) -> Result<ClientConfig> {
    let provider = Arc::new(as_browsers_offer());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let builder = match trust {
        Trust::Anything => builder.dangerous().with_custom_certificate_verifier(Arc::new(Believer(provider))),
        Trust::Authority { pem } => {
            let verifier = Arc::new(Authority::new(pem, provider)?);
            builder.dangerous().with_custom_certificate_verifier(verifier)
        }
        _ => builder.with_root_certificates(machines_own()),
    };
    let mut config = match identity {
        Some(identity) => {
            let (chain, key) = read_identity(identity)?;
            let unfit = || format!("the key `{}` does not fit `{}`", identity.key, identity.certificate);
            builder.with_client_auth_cert(chain, key).with_context(unfit)?
        }
        None => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    if protocol == Protocol::Http2 {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    Ok(config)
}

/// Reads a client's certificate, with those between it and its authority, and its key.
fn read_identity(identity: &Identity) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
    let Identity { certificate, key } = identity;
    let chain = CertificateDer::pem_file_iter(certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.with_context(|| format!("cannot read the client's certificate `{certificate}`"))?;
    anyhow::ensure!(!chain.is_empty(), "`{certificate}` holds no certificate in PEM form");
    let key = PrivateKeyDer::from_pem_file(key).with_context(|| format!("cannot read the client's key `{key}`"))?;
    Ok((chain, key))
}

/// The usual algorithms in the order in which browsers offer them: AES with 128 bits first.
fn as_browsers_offer() -> CryptoProvider {
    let mut provider = rustls::crypto::ring::default_provider();
    let rank = |suite: &SupportedCipherSuite| match suite.suite() {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => 0,
        CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256 | CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 => 2,
        _ if suite.tls13().is_some() => 1,
        _ => 3,
    };
    provider.cipher_suites.sort_by_key(rank);
    provider
}

/// A new user's configuration: the first connection makes a full handshake, later ones resume.
pub fn user_config(shared: &ClientConfig) -> Arc<ClientConfig> {
    let mut config = shared.clone();
    config.resumption = Resumption::store(Arc::new(SessionMemory::default()));
    Arc::new(config)
}

fn machines_own() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    roots
}

/// Believes what a private authority signed, and the authority's own certificate where a server shows that: one that
/// signed itself (`openssl req -x509`) says that it is an authority, which those of servers must not.
#[derive(Debug)]
struct Authority {
    own: Vec<CertificateDer<'static>>,
    signed: Arc<WebPkiServerVerifier>,
}

impl Authority {
    fn new(pem: &str, provider: Arc<CryptoProvider>) -> Result<Self> {
        let own = CertificateDer::pem_slice_iter(pem.as_bytes()).collect::<Result<Vec<_>, _>>();
        let own = own.context("the private authority's certificate is not readable")?;
        anyhow::ensure!(!own.is_empty(), "the private authority's file holds no certificate");
        let mut roots = RootCertStore::empty();
        own.iter().try_for_each(|certificate| roots.add(certificate.clone()))?;
        let signed = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider).build()?;
        Ok(Authority { own, signed })
    }
}

impl ServerCertVerifier for Authority {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if !self.own.iter().any(|own| own == shown) {
            return self.signed.verify_server_cert(shown, chain, name, stapled, now);
        }
        verify_server_name(&ParsedCertificate::try_from(shown)?, name)?;
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.signed.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.signed.supported_verify_schemes()
    }
}

/// Believes any certificate; only where the plan asks for it, and the report says so.
#[derive(Debug)]
struct Believer(Arc<CryptoProvider>);

impl ServerCertVerifier for Believer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    // Who believes any certificate learns nothing from a proof that its owner signed.
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
