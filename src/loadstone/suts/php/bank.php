<?php
// The bank: everything behind a login; who has none, or had one too long ago, sees the page to log in.

declare(strict_types=1);

/** The back end's number of this site, and of what it is asked. */
const BANK = 1;
const PASSWORD_OF = 1;
const BALANCES = 2;
const CHECK = 4;
const PAY = 7;
const TRANSFER = 12;

/** Checks that a user has. */
const CHECKS = 10;

/** Pages that show what one command answers: operation, title, command, and the fields that go with it. */
const SCRIPTS = [
    'account_summary' => ['account_summary', 'Bank: account summary', 3, []],
    'bill_pay' => ['bill_pay', 'Bank: pay bills', 5, []],
    'add_payee' => ['add_payee', 'Bank: add a payee', null, []],
    'post_payee' => [
        'payee_info', 'Bank: payee stored', 6, ['payee_id', 'name', 'street', 'city', 'state', 'zip', 'phone'],
    ],
    'bill_pay_status' => ['billpay_status', 'Bank: payment status', 8, ['start', 'end']],
    'profile' => ['chg_profile', 'Bank: your profile', 9, []],
    'change_profile' => [
        'post_profile', 'Bank: profile stored', 10, ['street', 'city', 'state', 'zip', 'email', 'phone'],
    ],
    'order_check' => ['req_checks', 'Bank: order checks', BALANCES, []],
    'place_check_order' => ['post_chk_order', 'Bank: checks ordered', 11, ['account_no', 'design', 'number']],
    'transfer' => ['req_xfer_form', 'Bank: transfer money', BALANCES, []],
];

function answer(string $script): void
{
    if ($script === 'login') {
        log_in();
        return;
    }
    $user = visitor('bank')['user'] ?? null;
    if ($user === null) {
        ask_for_login();
        return;
    }
    match ($script) {
        'check_detail' => check_detail($user),
        'check_image' => check_image($user),
        'quick_pay' => quick_pay($user),
        'post_transfer' => transfer($user),
        'logout' => log_out(),
        default => isset(SCRIPTS[$script]) ? show($user, ...SCRIPTS[$script]) : refuse(404),
    };
}

function log_in(): void
{
    $user = given('userid');
    if (!ctype_digit($user) || ask(BANK, PASSWORD_OF, $user)[0][0] !== md5(given('password'))) {
        ask_for_login();
        return;
    }
    $accounts = ask(BANK, BALANCES, $user);
    welcome('bank', ['user' => $user]);
    $page = begin('Bank: your accounts');
    $page->put('<p>Welcome, customer ' . escape($user) . ".</p>\n");
    table($page, $accounts);
    finish($page, 'banking/login');
}

function ask_for_login(): void
{
    $page = new Page('Bank: please log in');
    $page->put('<!--login-required--><form method="post" action="/bank/login">');
    $page->put('<input name="userid"><input name="password" type="password"><button>Log in</button></form>');
    $page->finish(0);
}

function log_out(): void
{
    farewell('bank');
    finish(begin('Bank: goodbye'), 'banking/logout');
}

function show(string $user, string $operation, string $title, ?int $command, array $fields): void
{
    $page = of_customer($title, $user);
    $given = array_map(given(...), $fields);
    if ($command !== null) {
        table($page, ask(BANK, $command, $user, ...$given));
    }
    foreach (array_combine($fields, $given) as $field => $value) {
        $page->put("<p>$field: " . escape($value) . "</p>\n");
    }
    finish($page, "banking/$operation");
}

function check_detail(string $user): void
{
    $check = given('check_no');
    $rows = ask(BANK, CHECK, $user, $check);
    $page = of_customer("Bank: check $check", $user);
    table($page, $rows);
    foreach (['front', 'back'] as $side) {
        $page->put('<a href="/bank/check_image?check_no=' . escape($check) . "&side=$side\">$side</a>\n");
    }
    finish($page, 'banking/check_detail_html');
}

/** One side of a check, a file that is nobody's but the user's. */
function check_image(string $user): void
{
    [$check, $side] = [given('check_no'), given('side')];
    if (!ctype_digit($check) || $check < 1 || $check > CHECKS || !in_array($side, ['front', 'back'], true)) {
        refuse(404);
        return;
    }
    ask(BANK, CHECK, $user, $check);
    $file = getenv('LOADSTONE_FILES') . "/check/$user/$check/$side.gif";
    if (!is_file($file)) {
        refuse(404);
        return;
    }
    header('Content-Type: image/gif');
    header('Content-Length: ' . filesize($file));
    readfile($file);
}

function quick_pay(string $user): void
{
    $page = begin('Bank: payments scheduled');
    $lists = array_map(fn ($name) => (array) ($_POST[$name] ?? $_GET[$name] ?? []), ['payee', 'date', 'amount']);
    foreach (array_map(null, ...$lists) as [$payee, $date, $amount]) {
        table($page, ask(BANK, PAY, $user, (string) $payee, (string) $date, (string) $amount));
    }
    finish($page, 'banking/quick_pay');
}

function transfer(string $user): void
{
    [$from, $to] = [given('from'), given('to')];
    if ($from === $to) {
        $page = new Page('Bank: transfer refused');
        $page->put('<p>The two accounts are the same.</p>');
        $page->finish(0);
        return;
    }
    $rows = ask(BANK, TRANSFER, $user, $from, $to, given('amount'), date('Y-m-d'));
    $page = begin('Bank: transfer done');
    table($page, $rows);
    finish($page, 'banking/post_fund_xfer');
}

function of_customer(string $title, string $user): Page
{
    $page = begin($title);
    $page->put('<p>Customer ' . escape($user) . "</p>\n");
    return $page;
}
