//! The bank: everything behind a login; an unknown or expired session sees the login page (docs/web-workloads.md, Pages).

use std::sync::Arc;

use anyhow::Result;
use http::StatusCode;

use super::form::{cookie, Form};
use super::page::{begin, end, fixed_file};
use super::sessions::{Sessions, Visitor};
use crate::backend::bank::{check_image_bytes, check_number, password_hash};
use crate::backend::client::BackendClient;
use crate::content::{escape, Page};
use crate::front::answer::{file, html, refusal, with_cookie, Answer};
use crate::front::Request;
use crate::site::Site;

const COOKIE: &str = "bank";
/// Back-end workload number.
const BANK: u8 = 1;

pub struct Bank {
    site: Site,
    sessions: Arc<Sessions>,
    backend: BackendClient,
}

/// Commands of the back end, by number (docs/web-workloads.md, Back end).
mod command {
    pub const PASSWORD: u8 = 1;
    pub const BALANCES: u8 = 2;
    pub const SUMMARY: u8 = 3;
    pub const CHECK: u8 = 4;
    pub const PAYEES: u8 = 5;
    pub const ADD_PAYEE: u8 = 6;
    pub const PAY: u8 = 7;
    pub const PAYMENTS: u8 = 8;
    pub const PROFILE: u8 = 9;
    pub const CHANGE_PROFILE: u8 = 10;
    pub const ORDER_CHECKS: u8 = 11;
    pub const TRANSFER: u8 = 12;
}

/// A page of the list below: script, operation, title, command, and the form fields it passes on.
struct Script {
    path: &'static str,
    operation: &'static str,
    title: &'static str,
    command: Option<u8>,
    fields: &'static [&'static str],
}

/// The pages that show what one back-end command answers.
const SCRIPTS: &[Script] = &[
    script("account_summary", "account_summary", "Bank: account summary", Some(command::SUMMARY), &[]),
    script("bill_pay", "bill_pay", "Bank: pay bills", Some(command::PAYEES), &[]),
    script("add_payee", "add_payee", "Bank: add a payee", None, &[]),
    script(
        "post_payee",
        "payee_info",
        "Bank: payee stored",
        Some(command::ADD_PAYEE),
        &["payee_id", "name", "street", "city", "state", "zip", "phone"],
    ),
    script("bill_pay_status", "billpay_status", "Bank: payment status", Some(command::PAYMENTS), &["start", "end"]),
    script("profile", "chg_profile", "Bank: your profile", Some(command::PROFILE), &[]),
    script(
        "change_profile",
        "post_profile",
        "Bank: profile stored",
        Some(command::CHANGE_PROFILE),
        &["street", "city", "state", "zip", "email", "phone"],
    ),
    script("order_check", "req_checks", "Bank: order checks", Some(command::BALANCES), &[]),
    script(
        "place_check_order",
        "post_chk_order",
        "Bank: checks ordered",
        Some(command::ORDER_CHECKS),
        &["account_no", "design", "number"],
    ),
    script("transfer", "req_xfer_form", "Bank: transfer money", Some(command::BALANCES), &[]),
];

const fn script(
    path: &'static str,
    operation: &'static str,
    title: &'static str,
    command: Option<u8>,
    fields: &'static [&'static str],
) -> Script {
    Script { path, operation, title, command, fields }
}

impl Bank {
    pub fn new(site: Site, sessions: Arc<Sessions>, backend: BackendClient) -> Self {
        Bank { site, sessions, backend }
    }

    /// Answers a request below `/bank/`.
    pub async fn answer(&self, script: &str, request: &Request, form: &Form) -> Result<Answer> {
        if let Some(answer) = fixed_file(&self.site, request) {
            return Ok(answer);
        }
        if script == "login" {
            return self.log_in(form).await;
        }
        let key = cookie(request, COOKIE);
        let Some(visitor) = self.sessions.find(key) else {
            return Ok(login_page());
        };
        match script {
            "check_detail" => self.check_detail(&visitor, form).await,
            "check_image" => self.check_image(&visitor, request, form).await,
            "quick_pay" => self.quick_pay(&visitor, form).await,
            "post_transfer" => self.transfer(&visitor, form).await,
            "logout" => {
                self.sessions.end(key);
                let facts = self.site.page("logout");
                let gone = format!("{COOKIE}=; Path=/; Max-Age=0");
                Ok(with_cookie(end(begin("Bank: goodbye", &facts), &facts), &gone))
            }
            other => match SCRIPTS.iter().find(|script| script.path == other) {
                Some(script) => self.show(script, &visitor, form).await,
                None => Ok(refusal(StatusCode::NOT_FOUND)),
            },
        }
    }

    async fn log_in(&self, form: &Form) -> Result<Answer> {
        let user = form.text("userid");
        let wanted = self.backend.ask(BANK, command::PASSWORD, &[user]).await;
        let given = password_hash(form.text("password"));
        let known = wanted.is_ok_and(|rows| rows.first().and_then(|row| row.first()) == Some(&given));
        if !known {
            return Ok(login_page());
        }
        let accounts = self.backend.ask(BANK, command::BALANCES, &[user]).await?;
        let facts = self.site.page("login");
        let mut page = begin("Bank: your accounts", &facts);
        page.put(&format!("<p>Welcome, customer {}.</p>\n", escape(user)));
        page.table(&accounts);
        let key = self.sessions.start(Visitor { user: user.to_owned(), ..Visitor::default() });
        Ok(with_cookie(end(page, &facts), &format!("{COOKIE}={key}; Path=/; HttpOnly")))
    }

    async fn show(&self, script: &Script, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let facts = self.site.page(script.operation);
        let mut page = begin(script.title, &facts);
        page.put(&format!("<p>Customer {}</p>\n", escape(&visitor.user)));
        let given: Vec<&str> = script.fields.iter().map(|field| form.text(field)).collect();
        if let Some(command) = script.command {
            let parameters: Vec<&str> = std::iter::once(visitor.user.as_str()).chain(given.iter().copied()).collect();
            page.table(&self.backend.ask(BANK, command, &parameters).await?);
        }
        for (field, value) in script.fields.iter().zip(given) {
            page.put(&format!("<p>{field}: {}</p>\n", escape(value)));
        }
        Ok(end(page, &facts))
    }

    async fn check_detail(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let check = form.text("check_no");
        let rows = self.backend.ask(BANK, command::CHECK, &[&visitor.user, check]).await?;
        let facts = self.site.page("check_detail_html");
        let mut page = begin(&format!("Bank: check {check}"), &facts);
        page.put(&format!("<p>Customer {}</p>\n", escape(&visitor.user)));
        page.table(&rows);
        for side in ["front", "back"] {
            page.put(&format!("<a href=\"/bank/check_image?check_no={}&side={side}\">{side}</a>\n", escape(check)));
        }
        Ok(end(page, &facts))
    }

    async fn check_image(&self, visitor: &Visitor, request: &Request, form: &Form) -> Result<Answer> {
        let (check, side) = (form.text("check_no"), form.text("side"));
        let Some(number) = check_number(check).filter(|_| matches!(side, "front" | "back")) else {
            return Ok(refusal(StatusCode::NOT_FOUND));
        };
        self.backend.ask(BANK, command::CHECK, &[&visitor.user, check]).await?;
        let name = format!("check/{}/{check}/{side}.gif", visitor.user);
        Ok(file(&request.headers, &name, check_image_bytes(number, side == "front")))
    }

    async fn quick_pay(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let facts = self.site.page("quick_pay");
        let mut page = begin("Bank: payments scheduled", &facts);
        for index in 0.. {
            let Some(payee) = form.get(&format!("payee[{index}]")) else { break };
            let (date, amount) = (form.text(&format!("date[{index}]")), form.text(&format!("amount[{index}]")));
            page.table(&self.backend.ask(BANK, command::PAY, &[&visitor.user, payee, date, amount]).await?);
        }
        Ok(end(page, &facts))
    }

    async fn transfer(&self, visitor: &Visitor, form: &Form) -> Result<Answer> {
        let (from, to, amount) = (form.text("from"), form.text("to"), form.text("amount"));
        if from == to {
            let mut page = Page::new("Bank: transfer refused", 0);
            page.put("<p>The two accounts are the same.</p>");
            return Ok(html(page.finish(0)));
        }
        let today = "2026-01-01"; // the back end stores nothing, so any date will do
        let rows = self.backend.ask(BANK, command::TRANSFER, &[&visitor.user, from, to, amount, today]).await?;
        let facts = self.site.page("post_fund_xfer");
        let mut page = begin("Bank: transfer done", &facts);
        page.table(&rows);
        Ok(end(page, &facts))
    }
}

/// What a visitor without a session sees. The driver knows it by its comment.
fn login_page() -> Answer {
    let mut page = Page::new("Bank: please log in", 0);
    page.put("<!--login-required--><form method=\"post\" action=\"/bank/login\">");
    page.put("<input name=\"userid\"><input name=\"password\" type=\"password\"><button>Log in</button></form>");
    html(page.finish(0))
}
