<%-- The bank: everything behind a login; who has none, or had one too long ago, sees the page to log in. --%>
<%@ page session="false" trimDirectiveWhitespaces="true" pageEncoding="UTF-8" %>
<%@ include file="facts.jspf" %><%@ include file="page.jspf" %><%@ include file="backend.jspf" %><%@ include file="visitor.jspf" %>
<%!
/** The back end's number of this site, and of what it is asked. */
static final int BANK = 1, PASSWORD_OF = 1, BALANCES = 2, CHECK = 4, PAY = 7, TRANSFER = 12;

/** Checks that a user has. */
static final int CHECKS = 10;

/** A page that shows what one command answers, 0 for none, and the fields that go with it. */
record Shown(String operation, String title, int command, String... fields) {
}

static final java.util.Map<String, Shown> SCRIPTS = java.util.Map.of(
    "account_summary", new Shown("account_summary", "Bank: account summary", 3),
    "bill_pay", new Shown("bill_pay", "Bank: pay bills", 5),
    "add_payee", new Shown("add_payee", "Bank: add a payee", 0),
    "post_payee", new Shown("payee_info", "Bank: payee stored", 6, "payee_id", "name", "street", "city", "state", "zip", "phone"),
    "bill_pay_status", new Shown("billpay_status", "Bank: payment status", 8, "start", "end"),
    "profile", new Shown("chg_profile", "Bank: your profile", 9),
    "change_profile", new Shown("post_profile", "Bank: profile stored", 10, "street", "city", "state", "zip", "email", "phone"),
    "order_check", new Shown("req_checks", "Bank: order checks", BALANCES),
    "place_check_order", new Shown("post_chk_order", "Bank: checks ordered", 11, "account_no", "design", "number"),
    "transfer", new Shown("req_xfer_form", "Bank: transfer money", BALANCES)
);

static void login(HttpServletRequest request, HttpServletResponse response) throws java.io.IOException {
    String user = given(request, "userid");
    if (!user.matches("[0-9]+") || !ask(BANK, PASSWORD_OF, user).get(0)[0].equals(md5(given(request, "password")))) {
        askForLogin(response);
        return;
    }
    java.util.List<String[]> accounts = ask(BANK, BALANCES, user);
    welcome(request).setAttribute("user", user);
    Page page = Page.begin("Bank: your accounts");
    page.put("<p>Welcome, customer " + escape(user) + ".</p>\n");
    page.table(accounts);
    page.finish(response, "banking/login");
}

static String md5(String text) {
    try {
        java.security.MessageDigest digest = java.security.MessageDigest.getInstance("MD5");
        byte[] sum = digest.digest(text.getBytes(java.nio.charset.StandardCharsets.ISO_8859_1));
        return java.util.HexFormat.of().formatHex(sum);
    } catch (java.security.NoSuchAlgorithmException error) {
        throw new IllegalStateException(error);
    }
}

static void askForLogin(HttpServletResponse response) throws java.io.IOException {
    Page page = new Page("Bank: please log in");
    page.put("<!--login-required--><form method=\"post\" action=\"/bank/login\">");
    page.put("<input name=\"userid\"><input name=\"password\" type=\"password\"><button>Log in</button></form>");
    page.finish(response, 0);
}

static void show(HttpServletRequest request, HttpServletResponse response, String user, Shown shown)
        throws java.io.IOException {
    Page page = ofCustomer(shown.title(), user);
    String[] asked = new String[shown.fields().length + 1];
    asked[0] = user;
    for (int at = 1; at < asked.length; at++) {
        asked[at] = given(request, shown.fields()[at - 1]);
    }
    if (shown.command() != 0) {
        page.table(ask(BANK, shown.command(), asked));
    }
    for (int at = 1; at < asked.length; at++) {
        page.put("<p>" + shown.fields()[at - 1] + ": " + escape(asked[at]) + "</p>\n");
    }
    page.finish(response, "banking/" + shown.operation());
}

static void checkDetail(HttpServletRequest request, HttpServletResponse response, String user)
        throws java.io.IOException {
    String check = given(request, "check_no");
    java.util.List<String[]> rows = ask(BANK, CHECK, user, check);
    Page page = ofCustomer("Bank: check " + check, user);
    page.table(rows);
    for (String side : new String[] {"front", "back"}) {
        page.put("<a href=\"/bank/check_image?check_no=" + escape(check) + "&side=" + side + "\">" + side + "</a>\n");
    }
    page.finish(response, "banking/check_detail_html");
}

/** One side of a check, a file that is nobody's but the user's. */
static void checkImage(HttpServletRequest request, HttpServletResponse response, String user)
        throws java.io.IOException {
    String check = given(request, "check_no");
    String side = given(request, "side");
    boolean isOne = check.matches("[0-9]{1,9}") && Integer.parseInt(check) >= 1 && Integer.parseInt(check) <= CHECKS;
    if (!isOne || !side.matches("front|back")) {
        refuse(response, 404);
        return;
    }
    ask(BANK, CHECK, user, check);
    java.nio.file.Path file =
        java.nio.file.Path.of(System.getProperty("loadstone.files"), "check", user, check, side + ".gif");
    if (!java.nio.file.Files.isRegularFile(file)) {
        refuse(response, 404);
        return;
    }
    response.setContentType("image/gif");
    response.setContentLengthLong(java.nio.file.Files.size(file));
    java.nio.file.Files.copy(file, response.getOutputStream());
}

static void quickPay(HttpServletRequest request, HttpServletResponse response, String user)
        throws java.io.IOException {
    Page page = Page.begin("Bank: payments scheduled");
    for (int at = 0; request.getParameter("payee[" + at + "]") != null; at++) {
        String number = "[" + at + "]";
        page.table(ask(BANK, PAY, user, given(request, "payee" + number), given(request, "date" + number),
            given(request, "amount" + number)));
    }
    page.finish(response, "banking/quick_pay");
}

static void transfer(HttpServletRequest request, HttpServletResponse response, String user)
        throws java.io.IOException {
    String from = given(request, "from");
    String to = given(request, "to");
    if (from.equals(to)) {
        Page page = new Page("Bank: transfer refused");
        page.put("<p>The two accounts are the same.</p>");
        page.finish(response, 0);
        return;
    }
    String today = java.time.LocalDate.now().toString();
    java.util.List<String[]> rows = ask(BANK, TRANSFER, user, from, to, given(request, "amount"), today);
    Page page = Page.begin("Bank: transfer done");
    page.table(rows);
    page.finish(response, "banking/post_fund_xfer");
}

static Page ofCustomer(String title, String user) {
    Page page = Page.begin(title);
    page.put("<p>Customer " + escape(user) + "</p>\n");
    return page;
}
%>
<%
String script = script(request);
HttpSession session = visitor(request);
String user = session == null ? null : (String) session.getAttribute("user");
try {
    if (script.equals("login")) {
        login(request, response);
    } else if (user == null) {
        askForLogin(response);
    } else if (SCRIPTS.containsKey(script)) {
        show(request, response, user, SCRIPTS.get(script));
    } else {
        switch (script) {
            case "check_detail" -> checkDetail(request, response, user);
            case "check_image" -> checkImage(request, response, user);
            case "quick_pay" -> quickPay(request, response, user);
            case "post_transfer" -> transfer(request, response, user);
            case "logout" -> {
                farewell(request, response, session);
                Page.begin("Bank: goodbye").finish(response, "banking/logout");
            }
            default -> refuse(response, 404);
        }
    }
} catch (BackendError error) {
    System.err.println(script + ": " + error.getMessage());
    refuse(response, 502);
}
%>
