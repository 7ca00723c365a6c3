//! Lists that are printed page by page.

use rota_client::{Error, Page, PageAt, WithJson};
use serde_json::json;

use super::{Table, paragraph, print, remark};
use crate::Failure;

/// A list printed page by page, so that a long one needs little memory and starts at once. As
/// JSON it is one object: the items under the list's name, then `total` and `next_cursor`, which
/// are null if unknown or at the end.
pub(crate) struct List<'a> {
    pub name: &'a str,
    pub as_json: bool,
    /// Maximum number of items; `None` for all.
    pub most: Option<u64>,
    /// Page size of requests.
    pub longest_page: u32,
    pub cursor: Option<String>,
    pub table: Table,
    /// The column of tenants, which is left out of a list with only one of them.
    pub tenants_in: Option<usize>,
    /// Message for an empty list.
    pub if_empty: &'a str,
    /// Message if there are more items than requested.
    pub if_more: &'a str,
}

impl List<'_> {
    pub async fn print<T>(
        mut self,
        cells: impl Fn(&T) -> Vec<String>,
        mut page_at: impl AsyncFnMut(u32, Option<&PageAt>) -> Result<Page<WithJson<T>>, Error>,
    ) -> Result<(), Failure> {
        let mut next = self.cursor.take().map(PageAt::Cursor);
        let mut count = 0;
        if self.as_json {
            // Before any output: a list that cannot be fetched prints only an error.
            let page = page_at(self.limit(0), next.as_ref()).await?;
            print(&format!("{{\"{}\":[", self.name))?;
            return self.print_json(page, page_at).await;
        }
        loop {
            let page = page_at(self.limit(count), next.as_ref()).await?;
            page.items.iter().for_each(|item| self.table.row(cells(item)));
            if let (0, None, Some(column)) = (count, &page.next, self.tenants_in) {
                self.table.remove_if_same(column);
            }
            print(&self.table.take())?;
            count += page.items.len() as u64;
            next = page.next;
            if next.is_none() || self.has_enough(count) {
                break;
            }
        }
        match (count, next) {
            (0, _) => remark(self.if_empty),
            (_, Some(_)) => remark(self.if_more),
            (_, None) => {}
        }
        if let Some(note) = self.table.note() {
            remark(&paragraph(&note));
        }
        Ok(())
    }

    async fn print_json<T>(
        self,
        mut page: Page<WithJson<T>>,
        mut page_at: impl AsyncFnMut(u32, Option<&PageAt>) -> Result<Page<WithJson<T>>, Error>,
    ) -> Result<(), Failure> {
        let mut count = 0;
        loop {
            let mut text = String::new();
            for item in &page.items {
                text.push_str(if count > 0 { "," } else { "" });
                text.push_str(item.json());
                count += 1;
            }
            print(&text)?;
            if page.next.is_none() || self.has_enough(count) {
                break;
            }
            page = page_at(self.limit(count), page.next.as_ref()).await?;
        }
        let cursor = match page.next {
            Some(PageAt::Cursor(cursor)) => json!(cursor),
            Some(PageAt::Number(_)) | None => json!(null),
        };
        print(&format!("],\"total\":{},\"next_cursor\":{cursor}}}\n", json!(page.total)))
    }

    fn limit(&self, count: u64) -> u32 {
        let left = self.most.map_or(u64::MAX, |most| most - count);
        u32::try_from(left).unwrap_or(u32::MAX).min(self.longest_page)
    }

    fn has_enough(&self, count: u64) -> bool {
        self.most.is_some_and(|most| count >= most)
    }
}
