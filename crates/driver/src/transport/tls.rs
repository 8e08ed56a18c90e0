//! TLS: what the driver trusts, and a fresh session memory for every simulated user.

use std::sync::Arc;

use anyhow::{Context, Result};
use loadstone_schedule::plan::{Protocol, Trust};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::Resumption;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CipherSuite, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme, SupportedCipherSuite};

/// Sessions a user's client remembers: enough for every connection of its session to resume.
const REMEMBERED: usize = 4;

/// The configuration all users share, without a session memory.
pub fn shared_config(trust: &Trust, protocol: Protocol) -> Result<ClientConfig> {
    let provider = Arc::new(as_browsers_offer());
    let builder = ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::Anything => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Believer(provider))).with_no_client_auth()
        }
        _ => builder.with_root_certificates(roots(trust)?).with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    if protocol == Protocol::Http2 {
        config.alpn_protocols = vec![b"h2".to_vec()];
    }
    Ok(config)
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
    config.resumption = Resumption::in_memory_sessions(REMEMBERED);
    Arc::new(config)
}

fn roots(trust: &Trust) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if let Trust::Authority { pem } = trust {
        for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
            roots.add(certificate.context("the private authority's certificate is not readable")?)?;
        }
        anyhow::ensure!(!roots.is_empty(), "the private authority's file holds no certificate");
        return Ok(roots);
    }
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    Ok(roots)
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
