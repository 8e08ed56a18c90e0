//! Giving a machine's interfaces their addresses, as the laboratory declares them.

use std::fs::File;
use std::io::Read;
use std::net::IpAddr;
use std::num::NonZeroU32;

use anyhow::{bail, ensure, Context, Result};
use futures_util::TryStreamExt;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage};
use rtnetlink::{new_connection, Handle, LinkUnspec, RouteMessageBuilder};
use rustix::net::{socket, AddressFamily, Protocol, SocketType};
use serde::Deserialize;

/// Ethernet's type of frames that describe a network (IEEE 802, for local experiments).
const DESCRIPTION: u16 = 0x88b5;
/// Longest frame that is read.
const LONGEST: usize = 2048;

/// An interface, and the addresses that it is to have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interface {
    /// Hardware address that it is to have
    pub mac: String,
    /// Hardware address that it has now, where that is another
    #[serde(default)]
    pub made_as: Option<String>,
    pub address: IpAddr,
    /// Bits of the network
    pub prefix: u8,
    pub gateway: Option<IpAddr>,
}

/// Frames that describe the machine's network, before it has an address.
pub struct Descriptions(File);

impl Descriptions {
    /// Brings all interfaces up, without addresses, and hears such frames from then on.
    pub fn open() -> Result<Self> {
        // The kernel takes the type as the wire has it.
        let protocol = NonZeroU32::new(u32::from(DESCRIPTION.to_be())).map(Protocol::from_raw);
        let opened = socket(AddressFamily::PACKET, SocketType::DGRAM, protocol).context("no socket for frames")?;
        bring_all_up()?;
        Ok(Descriptions(File::from(opened)))
    }

    /// Waits for a frame that describes an interface; others are ignored.
    pub fn wait(mut self) -> Result<Interface> {
        let mut frame = [0; LONGEST];
        loop {
            let length = self.0.read(&mut frame)?;
            if let Some(interface) = read_description(&frame[..length]) {
                return Ok(interface);
            }
        }
    }
}

/// The interface that a frame describes: a JSON object, then zeros up to the shortest length of a frame.
fn read_description(frame: &[u8]) -> Option<Interface> {
    let end = frame.iter().rposition(|byte| *byte != 0)?;
    serde_json::from_slice(&frame[..=end]).ok()
}

fn bring_all_up() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (handle, links) = list_links().await?;
        for link in &links {
            bring_up(&handle, link).await?;
        }
        Ok(())
    })
}

async fn list_links() -> Result<(Handle, Vec<LinkMessage>)> {
    let (connection, handle, _) = new_connection()?;
    tokio::spawn(connection);
    let links = handle.link().get().execute().try_collect().await?;
    Ok((handle, links))
}

/// Brings the loopback interface and the declared ones up.
pub fn set_up(interfaces: &[Interface]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (handle, links) = list_links().await?;
        let loopback = links.iter().find(|link| name_of(link) == Some("lo")).context("there is no loopback")?;
        bring_up(&handle, loopback).await?;
        for wanted in interfaces {
            let hardware = hardware_address(&wanted.mac)?;
            let present = wanted.made_as.as_deref().map_or(Ok(hardware.clone()), hardware_address)?;
            let Some(link) = links.iter().find(|link| hardware_of(link) == Some(&present)) else {
                bail!("there is no interface {}", wanted.made_as.as_ref().unwrap_or(&wanted.mac));
            };
            if present != hardware {
                let changed = LinkUnspec::new_with_index(link.header.index).address(hardware).build();
                handle.link().set(changed).execute().await.context("the hardware address cannot be changed")?;
            }
            handle.address().add(link.header.index, wanted.address, wanted.prefix).execute().await?;
            bring_up(&handle, link).await?;
            if let Some(gateway) = wanted.gateway {
                route(&handle, gateway).await?;
            }
        }
        Ok(())
    })
}

async fn bring_up(handle: &Handle, link: &LinkMessage) -> Result<()> {
    let up = LinkUnspec::new_with_index(link.header.index).up().build();
    Ok(handle.link().set(up).execute().await?)
}

async fn route(handle: &Handle, gateway: IpAddr) -> Result<()> {
    let IpAddr::V4(gateway) = gateway else {
        bail!("{gateway} is not an IPv4 address");
    };
    let message = RouteMessageBuilder::<std::net::Ipv4Addr>::new().gateway(gateway).build();
    Ok(handle.route().add(message).execute().await?)
}

fn name_of(link: &LinkMessage) -> Option<&str> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::IfName(name) => Some(name.as_str()),
        _ => None,
    })
}

fn hardware_of(link: &LinkMessage) -> Option<&Vec<u8>> {
    link.attributes.iter().find_map(|attribute| match attribute {
        LinkAttribute::Address(address) => Some(address),
        _ => None,
    })
}

fn hardware_address(text: &str) -> Result<Vec<u8>> {
    let bytes: Result<Vec<u8>, _> = text.split(':').map(|byte| u8::from_str_radix(byte, 16)).collect();
    let bytes = bytes.with_context(|| format!("`{text}` is not a valid hardware address"))?;
    ensure!(bytes.len() == 6, "`{text}` is not a valid hardware address");
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_describes_an_interface_whatever_it_is_filled_up_with() {
        let text = r#"{"mac":"52:54:00:00:00:02","address":"10.1.0.2","prefix":24,"gateway":"10.1.0.1"}"#;
        let mut frame = text.as_bytes().to_vec();
        frame.resize(200, 0);
        let interface = read_description(&frame).expect("an interface");
        assert_eq!((interface.mac.as_str(), interface.prefix), ("52:54:00:00:00:02", 24));
        for other in [&[0; 46][..], b"", b"{}", &frame[..text.len() - 1]] {
            assert!(read_description(other).is_none());
        }
    }
}
