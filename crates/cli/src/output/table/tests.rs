use super::Table;

const ID: &str = "01a1e147-f18d-7cc0-a956-6264e2abc689";

fn cells(cells: &[&str]) -> Vec<String> {
    cells.iter().map(|cell| (*cell).to_owned()).collect()
}

#[test]
fn a_cell_cannot_steer_the_terminal() {
    let mut table = Table::new(&["A"]);
    table.row(vec!["\u{1b}[31mred\n".into()]);
    assert_eq!(table.take_within(80), "A\n\u{fffd}[31mred\u{fffd}\n");
}

#[test]
fn columns_are_as_wide_as_needed() {
    let mut table = Table::new(&["NAME", "N", "NOTE"]).numbers_in([1]);
    table.row(cells(&["grüße", "7", ""]));
    table.row(cells(&["a", "1200", "x"]));
    assert_eq!(table.take_within(80), "NAME      N  NOTE\ngrüße     7\na      1200  x\n");
}

#[test]
fn a_second_portion_has_no_header() {
    let mut table = Table::new(&["A"]);
    assert_eq!(table.take_within(80), "");
    table.row(cells(&["1"]));
    assert_eq!(table.take_within(80), "A\n1\n");
    table.row(cells(&["2"]));
    assert_eq!(table.take_within(80), "2\n");
}

#[test]
fn short_names_make_room_before_columns_are_hidden() {
    let drawn = |width| {
        let header = ["TENANT", "N", "NOTE"];
        let mut table = Table::new(&header).numbers_in([1]).hide_first([2, 1]).with_short_names();
        table.row(cells(&["tenant-000000000001", "7", "late"]));
        table.take_within(width)
    };
    let whole = "TENANT               N  NOTE\ntenant-000000000001  7  late\n";
    assert_eq!((drawn(usize::MAX), drawn(28)), (whole.into(), whole.into()));
    assert_eq!(drawn(26), "TENANT             N  NOTE\ntenant-0…00000001  7  late\n");
    assert_eq!(drawn(23), "TENANT               N\ntenant-000000000001  7\n");
    assert_eq!(drawn(10), "TENANT\ntenan…0001\n");
}

#[test]
fn text_is_wrapped_and_then_moves_below_its_row() {
    let drawn = |width| {
        let mut table = Table::new(&["ID", "STATE", "TRIES", "DETAIL"]).hide_first([2]).with_text();
        table.row(cells(&[
            ID,
            "discarded",
            "3/3",
            "failed 2s ago: no answer from smtp.example.com",
        ]));
        table.row(cells(&[ID, "active", "1/3", ""]));
        let text = table.take_within(width);
        (text, table.note())
    };
    let (text, note) = drawn(92);
    assert_eq!(text.lines().next().unwrap().split_whitespace().count(), 4, "{text}");
    assert!(text.contains("failed 2s ago: no answer from\n"), "{text}");
    let indent = " ".repeat(56);
    assert!(text.contains(&format!("\n{indent}smtp.example")), "{text}");
    assert!(text.lines().all(|line| line.len() <= 92) && note.is_none(), "{text}");
    let (text, note) = drawn(56);
    let below = format!(
        "{:36}  STATE      TRIES\n{ID}  discarded  3/3\n    failed 2s ago: no answer from smtp.example.com\n\
         {ID}  active     1/3\n",
        "ID"
    );
    assert_eq!((text, note), (below, None));
    let (text, note) = drawn(50);
    assert!(!text.contains("TRIES") && text.lines().all(|line| line.len() <= 50), "{text}");
    assert_eq!(note.as_deref(), Some("no room for TRIES; --json has all"));
}

#[test]
fn a_row_that_does_not_fit_becomes_a_list() {
    let mut table = Table::new(&["ID", "TYPE", "DETAIL"]).hide_first([2]).with_text();
    table.row(cells(&[ID, "email.send", "failed 2s ago: no answer from smtp"]));
    let expected = format!(
        "{ID}\n  type    email.send\n  detail  failed 2s ago: no answer from\n          smtp\n"
    );
    assert_eq!(table.take_within(40), expected);
    assert_eq!(table.note(), None);
}

#[test]
fn a_value_without_room_beside_its_name_is_below_it() {
    let mut table = Table::of_fields();
    table.field("id", ID);
    table.field("visibility", "30m");
    table.field("reason", "their API is down again today");
    let expected = format!(
        "id\n  {ID}\nvisibility  30m\nreason      their API is down again\n            today\n"
    );
    assert_eq!(table.take_within(40), expected);
}

#[test]
fn a_column_that_says_nothing_is_removed() {
    let drawn = |tenants: [&str; 2]| {
        let mut table = Table::new(&["NAME", "TENANT", "N"]);
        tenants.iter().for_each(|tenant| table.row(cells(&["a", tenant, "1"])));
        table.remove_if_same(1);
        table.take_within(80)
    };
    assert_eq!(drawn(["acme", "acme"]), "NAME  N\na     1\na     1\n");
    assert_eq!(drawn(["acme", "b"]), "NAME  TENANT  N\na     acme    1\na     b       1\n");
}

#[test]
fn a_word_that_does_not_fit_beside_the_other_cells_is_below_them() {
    let mut table = Table::new(&["TIME", "EVENT", "ABOUT"]).with_text();
    let about = format!("often trigger=manual job_id={ID}");
    table.row(cells(&["2026-11-18T06:26:28.373Z", "cron.triggered", &about]));
    table.row(cells(&["2026-11-18T06:26:28.373Z", "job.enqueued", "short"]));
    let drawn = table.take_within(80);
    let lines: Vec<&str> = drawn.lines().collect();
    assert_eq!(lines[2], format!("    {about}"));
    assert_eq!(lines[3], "2026-11-18T06:26:28.373Z  job.enqueued    short");
    assert!(lines.iter().all(|line| line.len() <= 80), "{drawn}");
}
