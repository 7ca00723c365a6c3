//! The table of requests in `docs/federation.md` is that of the gateway.

use crate::update_or_compare;

#[test]
fn the_table_of_requests_is_that_of_the_gateway() {
    let table = format!("\n{}\n", rota_gateway::handling_table());
    update_or_compare("docs/federation.md", "gateway", &table);
}
