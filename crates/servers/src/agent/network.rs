//! Giving a machine's interfaces their addresses, as the laboratory declares them.

use std::net::IpAddr;

use anyhow::{bail, ensure, Context, Result};
use futures_util::TryStreamExt;
use rtnetlink::packet_route::link::{LinkAttribute, LinkMessage};
use rtnetlink::{new_connection, Handle, LinkUnspec, RouteMessageBuilder};
use serde::Deserialize;

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

/// Brings the loopback interface and the declared ones up.
pub fn set_up(interfaces: &[Interface]) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (connection, handle, _) = new_connection()?;
        tokio::spawn(connection);
        let links: Vec<LinkMessage> = handle.link().get().execute().try_collect().await?;
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
