//! A v2 of the deployment's own: its address, and the operations that it answers.
//!
//! May use: `settings::address`, `settings::reader`, `settings::serving`, this folder.

mod serve;

pub use serve::{Mode, Serve};

use super::address::HttpAddress;
use super::reader::{Reader, settings, whole};
use super::serving::{ListenSettings, PublicSettings};

const BASE_URL: &str = "native.base_url";
const SERVE: &str = "native.serve";

/// The v2 of the deployment's own (`[native]`); there is none by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NativeSettings {
    /// Its address without `/api/v2`.
    pub base_url: Option<HttpAddress>,
    /// The side that answers, by operation. This gateway answers all operations not listed.
    pub serve: Vec<Serve>,
    /// The comparison of answers.
    pub shadow: ShadowSettings,
}

settings! {
    /// The comparison of this gateway's answers with those of the deployment's own v2 (`[native.shadow]`).
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    ShadowSettings {
        /// Share of the reads that are compared, in per cent.
        share: usize = whole(1..=100),
        /// Maximum number of comparisons a second.
        rate: usize = whole(1..=10_000),
        /// Maximum number of differences that are kept.
        keep: usize = whole(1..=100_000),
        /// Whether the values of a difference are kept unchanged.
        values: bool = Reader::get,
    }
}

/// Reads the table `[native]`. Its address must not lead back to this gateway.
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

/// Refuses an address that would send credentials in plain text over a network, or that is this gateway.
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

#[cfg(test)]
mod tests {
    use super::super::tables::Tables;
    use super::super::value::Setting;
    use super::*;
    use crate::settings::raw::Raw;

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
    fn loopback_addresses_are_recognised() {
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
