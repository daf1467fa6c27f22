//! Methods: all pass through except those for the server in between.

use super::{Case, HOST, case};

pub fn cases() -> Vec<Case> {
    let request = |method: &str, path: &str| format!("{method} {path} HTTP/1.1\r\n{HOST}\r\n");
    let line = |method: &str| format!("{method} /api/v1/x/ HTTP/1.1");
    let mut cases: Vec<Case> = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "X-OWN"]
        .map(|method| case(format!("{method} to v1"), request(method, "/api/v1/x/")).passes(&line(method)))
        .into();
    for (kind, path) in super::PATHS {
        cases.push(case(format!("CONNECT ({kind})"), request("CONNECT", path)).refused(405));
        // On paths that do not lead to v1, TRACE is an ordinary method: unknown there, or refused without a credential.
        let status = match kind {
            "v1" | "health" => 405,
            "v2" => 401,
            _ => 404,
        };
        cases.push(case(format!("TRACE ({kind})"), request("TRACE", path)).refused(status));
    }
    cases.extend([
        case("CONNECT to a host", request("CONNECT", "v1.example:443")).refused(405),
        case("CONNECT to this host", request("CONNECT", "gw.example:80")).refused(405),
        case("CONNECT with a body", format!("CONNECT x:1 HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\nabc"))
            .refused(405),
        case("CONNECT without a port", request("CONNECT", "v1.example")).refused(405),
        case("CONNECT to an address", request("CONNECT", "http://v1.example/")).refused(405),
        case("TRACE with a body", format!("TRACE /api/v1/x/ HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\nabc"))
            .refused(405),
        case("an asterisk for OPTIONS", request("OPTIONS", "*")).refused(404),
        case("an asterisk for TRACE", request("TRACE", "*")).refused(400),
        case("an asterisk for HEAD", request("HEAD", "*")).refused(400),
        case("an asterisk for POST", request("POST", "*")).refused(400),
        case("HEAD of health", request("HEAD", "/healthz")).answers(&[200]),
        case("POST to health", request("POST", "/healthz")).refused(405),
        case("HEAD with dots", request("HEAD", "/api/v1/../")).refused(400),
        case("HEAD with an unknown end", {
            format!("HEAD /api/v1/x/ HTTP/1.1\r\n{HOST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
        })
        .refused(400)
        .closes(),
    ]);
    // v1's server may take these for the methods that they look like.
    for method in ["get", "Post", "delete", "trace", "connect", "Trace"] {
        cases.push(case(format!("{method} in small letters"), request(method, "/api/v1/x/")).refused(400));
    }
    cases
}
