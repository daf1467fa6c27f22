//! A v2 of the deployment's own: where it is, and which operations it answers.
//!
//! May use: `settings::reader`, `settings::serving`, `settings::source`, `settings::tables`, `settings::value`.

use super::reader::{Reader, settings, whole};
use super::serving::{ListenSettings, PublicSettings};
use super::source::Raw;
use super::tables::{Row, Table, known, optional, text, texts};
use super::value::HttpAddress;
use std::net::{IpAddr, SocketAddr};
use strum::{EnumString, IntoStaticStr};

const BASE_URL: &str = "native.base_url";
const SERVE: &str = "native.serve";

/// The v2 of the deployment's own (`[native]`); there is none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NativeSettings {
    /// Its address without `/api/v2`.
    pub base_url: Option<HttpAddress>,
    /// Who answers which operations; this gateway where nothing is said.
    pub serve: Vec<Serve>,
    /// How answers are compared.
    pub shadow: ShadowSettings,
}

/// Who answers some operations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serve {
    /// Names of operations or resources, or `all`.
    pub operations: Vec<String>,
    /// Who answers.
    pub mode: Mode,
    /// Workspaces by what they are called in paths; everywhere when empty.
    pub workspaces: Vec<String>,
}

/// Who answers an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Mode {
    /// This gateway.
    #[default]
    Translated,
    /// This gateway; its answers to reads are compared with those of the deployment's own v2.
    Shadow,
    /// The deployment's own v2.
    Native,
}

impl Mode {
    /// As settings write it.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

settings! {
    /// How answers are compared (`[native.shadow]`).
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    ShadowSettings {
        /// How many of the reads, in per cent.
        share: usize = whole(1..=100),
        /// Most comparisons a second.
        rate: usize = whole(1..=10_000),
        /// Most differences that are kept.
        keep: usize = whole(1..=100_000),
        /// Whether values are kept as they are.
        values: bool = Reader::get,
    }
}

/// Reads the table `[native]`, which must not lead to the gateway that serves there.
pub(super) fn native(
    listen: &ListenSettings,
    public: &PublicSettings,
) -> impl Fn(&mut Reader, &str) -> NativeSettings {
    move |from, _| {
        let form = "an address such as \"https://v2.example.com\", without /api/v2, credentials or query";
        let base_url = from.optional_where(BASE_URL, form, |address: &HttpAddress| {
            !address.as_str().ends_with("/api/v2") && !address.as_str().ends_with("/api")
        });
        let serve: Vec<Serve> = from.tables(SERVE);
        if let Some(address) = &base_url {
            judge(from, address, listen, public);
        } else if let Some(serve) = serve.iter().find(|serve| serve.mode != Mode::Translated) {
            let (operations, mode) = (serve.operations.join(", "), serve.mode.word());
            let problem = format!("{operations} cannot be {mode} without a v2 to ask");
            from.fault(SERVE, &problem, &format!("set {BASE_URL} to the address of the deployment's own v2"));
        }
        NativeSettings { base_url, serve, shadow: ShadowSettings::read(from, "native.shadow") }
    }
}

/// Refuses an address that shows credentials to those on the way, or is this gateway.
fn judge(from: &mut Reader, address: &HttpAddress, listen: &ListenSettings, public: &PublicSettings) {
    if address.is_plain() && !address.is_on_this_machine() {
        let problem = format!("{} would show credentials to everybody on the way", address.as_str());
        from.fault(BASE_URL, &problem, "write https://");
    }
    if address.leads_to(listen.address) || public.url.as_ref() == Some(address) {
        let problem = format!("{} is this gateway itself", address.as_str());
        from.fault(BASE_URL, &problem, "name the address of the deployment's own v2, not the one that clients use");
    }
}

impl Row for Serve {
    const FORM: &'static str = "one table per group of operations with `operations` (a list of names of operations or \
                                resources, or [\"all\"]) and `mode` (\"translated\", \"shadow\" or \"native\"), and if \
                                wanted `workspaces` (a list)";

    fn of(table: &Table) -> Option<Self> {
        known(table, &["operations", "mode", "workspaces"])?;
        let some = |raw: &Raw| texts(raw).filter(|names| !names.is_empty());
        Some(Self {
            operations: some(table.get("operations")?)?,
            mode: text(table.get("mode")?)?.parse().ok()?,
            workspaces: optional(table, "workspaces", some)?.unwrap_or_default(),
        })
    }
}

impl HttpAddress {
    fn url(&self) -> Option<url::Url> {
        url::Url::parse(self.as_str()).ok()
    }

    /// Whether it is without TLS.
    pub fn is_plain(&self) -> bool {
        self.as_str().starts_with("http://")
    }

    fn ip(&self) -> Option<IpAddr> {
        match self.url()?.host()? {
            url::Host::Ipv4(ip) => Some(ip.into()),
            url::Host::Ipv6(ip) => Some(ip.into()),
            url::Host::Domain(_) => None,
        }
    }

    fn port(&self) -> Option<u16> {
        self.url()?.port_or_known_default()
    }

    /// Whether it is where a gateway at `listen` listens, as far as it can be told without asking.
    pub(super) fn leads_to(&self, listen: SocketAddr) -> bool {
        let own = listen.ip().to_canonical();
        let same = match self.ip().map(|ip| ip.to_canonical()) {
            // What listens on all addresses of IPv6 usually does so on those of IPv4.
            Some(ip) => ip == own || (own.is_unspecified() && ip.is_loopback() && (own.is_ipv6() || ip.is_ipv4())),
            None => self.is_on_this_machine() && (own.is_loopback() || own.is_unspecified()),
        };
        // The system chooses a port where none is named.
        listen.port() != 0 && self.port() == Some(listen.port()) && same
    }

    /// Whether what is sent there stays on this machine.
    pub fn is_on_this_machine(&self) -> bool {
        match self.ip() {
            Some(ip) => ip.to_canonical().is_loopback(),
            None => self.url().is_some_and(|url| url.host_str() == Some("localhost")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tables::Tables;
    use super::super::value::Setting;
    use super::*;

    #[test]
    fn tables_are_read_strictly() {
        let read = |text: &str| Tables::<Serve>::from_raw(&Raw::Bare(text.to_owned())).map(|tables| tables.0);
        let one = read("[{ operations = [\"states\"], mode = \"native\", workspaces = [\"acme\"] }]").unwrap();
        assert_eq!((one[0].mode, one[0].workspaces.as_slice()), (Mode::Native, &["acme".to_owned()][..]));
        for faulty in [
            "[{ operations = [\"states\"] }]",
            "[{ operations = [], mode = \"native\" }]",
            "[{ operations = \"states\", mode = \"native\" }]",
            "[{ operations = [\"states\"], mode = \"nativ\" }]",
            "[{ operations = [\"states\"], mode = \"native\", workspaces = [] }]",
            "[{ operations = [\"states\"], mode = \"native\", workspace = [\"acme\"] }]",
            "native",
        ] {
            assert_eq!(read(faulty), None, "{faulty}");
        }
    }

    #[test]
    fn what_stays_on_the_machine_is_known() {
        let stays = |address: &str| HttpAddress::parse(address).unwrap().is_on_this_machine();
        assert!(stays("http://127.0.0.1:8080") && stays("http://[::1]:8080") && stays("http://localhost"));
        for elsewhere in ["http://v2.example.com", "http://10.0.0.1", "http://localhost.example.com"] {
            assert!(!stays(elsewhere), "{elsewhere}");
        }
    }

    #[test]
    fn its_own_address_is_known_however_it_is_written() {
        let leads =
            |address: &str, listen: &str| HttpAddress::parse(address).unwrap().leads_to(listen.parse().unwrap());
        assert!(
            leads("http://localhost:8080", "127.0.0.1:8080") && leads("http://127.0.0.1:8080/x", "0.0.0.0:8080")
        );
        assert!(leads("http://[::1]:8080", "[::]:8080") && leads("http://10.0.0.7:8080", "10.0.0.7:8080"));
        assert!(leads("http://localhost", "127.0.0.1:80"));
        for (address, listen) in [
            ("http://localhost:8081", "127.0.0.1:8080"),
            ("http://10.0.0.8:8080", "0.0.0.0:8080"),
            ("http://10.0.0.8:8080", "10.0.0.7:8080"),
            ("https://localhost", "127.0.0.1:80"),
            ("http://127.0.0.1:8080", "[::1]:8080"),
            ("http://127.0.0.1:8080", "127.0.0.2:8080"),
        ] {
            assert!(!leads(address, listen), "{address} {listen}");
        }
    }
}
