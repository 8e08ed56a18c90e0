//! Certificates for the laboratory: a private authority and a server certificate, made new for each run.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::ServerSessionMemoryCache;
use rustls::ServerConfig;
use tokio_rustls::TlsAcceptor;

/// File names in a certificate folder.
pub const AUTHORITY: &str = "authority.pem";
const SERVER: &str = "server.pem";
const KEY: &str = "server-key.pem";
/// Sessions the server remembers for resumption; a published server used 37,917.
const REMEMBERED: usize = 65_536;

/// Writes an authority's certificate, and a server's certificate and key for `names`, into a folder.
pub fn write(folder: &Path, names: &[String]) -> Result<()> {
    let mut authority = CertificateParams::new(Vec::<String>::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "Loadstone laboratory authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let mut server = CertificateParams::new(names.to_vec())?;
    server.distinguished_name.push(DnType::CommonName, "Loadstone reference server");
    let server = server.signed_by(&key, &authority)?;
    std::fs::create_dir_all(folder)?;
    let save = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name} in {}", folder.display()))
    };
    save(AUTHORITY, authority.pem())?;
    save(SERVER, server.pem() + &authority.pem())?;
    save(KEY, key.serialize_pem())?;
    restrict(&folder.join(KEY))
}

/// Reads a folder's certificate into a TLS server: versions 1.3 and 1.2, sessions resumed.
pub fn acceptor(folder: &Path) -> Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let read = |name: &str| {
        std::fs::read(folder.join(name)).with_context(|| format!("cannot read {name} in {}", folder.display()))
    };
    let chain = CertificateDer::pem_slice_iter(&read(SERVER)?).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(&read(KEY)?)?;
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.session_storage = ServerSessionMemoryCache::new(REMEMBERED);
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn restrict(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}
