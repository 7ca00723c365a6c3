//! The table of scopes in `docs/security.md` is that of the routes.

use crate::update_or_compare;

#[test]
fn the_table_of_scopes_is_that_of_the_routes() {
    let table = format!("\n{}\n", rota_server::http::permission_table());
    update_or_compare("docs/security.md", "scopes", &table);
}
