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
const AUTHORITY: &str = "authority.pem";
const SERVER: &str = "server.pem";
const KEY: &str = "server-key.pem";
/// Sessions the server remembers for resumption; a published server used 37,917.
const REMEMBERED: usize = 65_536;

/// Certificates and a key, all in PEM form.
struct Made {
    authority: String,
    chain: String,
    key: String,
}

fn make(names: &[String]) -> Result<Made> {
    let mut authority = CertificateParams::new(Vec::<String>::new())?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    authority.distinguished_name.push(DnType::CommonName, "Loadstone laboratory authority");
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
    let key = KeyPair::generate()?;
    let mut server = CertificateParams::new(names.to_vec())?;
    server.distinguished_name.push(DnType::CommonName, "Loadstone reference server");
    let server = server.signed_by(&key, &authority)?;
    Ok(Made { authority: authority.pem(), chain: server.pem() + &authority.pem(), key: key.serialize_pem() })
}

/// Writes an authority's certificate, and a server's certificate and key for `names`, into a folder.
pub fn write(folder: &Path, names: &[String]) -> Result<()> {
    let made = make(names)?;
    std::fs::create_dir_all(folder)?;
    let save = |name: &str, text: String| {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name} in {}", folder.display()))
    };
    save(AUTHORITY, made.authority)?;
    save(SERVER, made.chain)?;
    save(KEY, made.key)?;
    restrict(&folder.join(KEY))
}

/// A TLS server with a folder's certificate; also the authority's certificate, in PEM form.
pub fn from_folder(folder: &Path) -> Result<(TlsAcceptor, String)> {
    let read = |name: &str| {
        std::fs::read_to_string(folder.join(name))
            .with_context(|| format!("cannot read {name} in {}", folder.display()))
    };
    Ok((acceptor(&read(SERVER)?, &read(KEY)?)?, read(AUTHORITY)?))
}

/// A TLS server with a new certificate that never touches a disk; also the authority's certificate, in PEM form.
pub fn fresh(names: &[String]) -> Result<(TlsAcceptor, String)> {
    let made = make(names)?;
    Ok((acceptor(&made.chain, &made.key)?, made.authority))
}

/// Versions 1.3 and 1.2, sessions resumed.
fn acceptor(chain: &str, key: &str) -> Result<TlsAcceptor> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<Vec<_>, _>>()?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes())?;
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.session_storage = ServerSessionMemoryCache::new(REMEMBERED);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn restrict(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?)
}
