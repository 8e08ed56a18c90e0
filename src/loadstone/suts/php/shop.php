<?php
// The shop: browse, customise, check out; a new visitor is redirected once with a session cookie.

declare(strict_types=1);

const SHOP = 2;

function answer(string $script): void
{
    $visitor = visitor('shop');
    if ($script === 'index') {
        index($visitor);
        return;
    }
    if ($visitor === null) {
        $page = new Page('Shop: session expired');
        $page->put('<!--session-expired--><a href="/shop/index">Start again</a>');
        $page->finish(0);
        return;
    }
    match ($script) {
        'search' => search($visitor),
        'browse' => browse($visitor),
        'browse_productline' => product_line($visitor),
        'productdetail' => product($visitor),
        'customize' => customize(),
        'cart', 'login', 'shipping', 'billing', 'confirm' => check_out($script, $visitor),
        default => refuse(404),
    };
}

function index(?array $visitor): void
{
    $region = given('region');
    if ($visitor === null) {
        welcome('shop', ['region' => $region]);
        header('Location: ' . $_SERVER['REQUEST_URI'], true, 307);
        return;
    }
    note('shop', ['region' => $region]);
    $page = begin('Shop: welcome');
    $page->put('<p>Prices in ' . escape($region) . "</p>\n");
    finish($page, 'shopping/index');
}

function search(array $visitor): void
{
    $rows = ask(SHOP, 1, given('segment'), given('keyword'), $visitor['region']);
    $about = given('segment') . " in {$visitor['region']}";
    show('search', 'Shop: results for ' . given('keyword'), $about, $rows, 'small', given('near'));
}

function browse(array $visitor): void
{
    $rows = ask(SHOP, 2, given('type'), $visitor['region']);
    show('browse', 'Shop: product lines', given('type') . " customers in {$visitor['region']}", $rows);
}

function product_line(array $visitor): void
{
    $line = given('line');
    $rows = ask(SHOP, 3, $line, given('near'));
    $title = 'Shop: line ' . explode('-', $line)[0];
    show('browse_productline', $title, "prices in {$visitor['region']}", $rows, 'small', given('near'));
}

function product(array $visitor): void
{
    $product = given('product');
    $rows = ask(SHOP, 4, $product, $visitor['region']);
    show('productdetail', "Shop: product $product", "price in {$visitor['region']}", $rows, 'large', $product);
}

function customize(): void
{
    $product = given('product');
    $steps = ['1' => 'Shop: components', '2' => 'Shop: warranty and service', '3' => 'Shop: accessories'];
    $step = given('step');
    if (!isset($steps[$step])) {
        refuse(400);
        return;
    }
    $rows = ask(SHOP, 5, $product, $step);
    $image = $step === '3' ? 'extra' : '';
    show("customize$step", $steps[$step], "$product, option " . given('option'), $rows, $image, $product);
}

function check_out(string $script, array $visitor): void
{
    $where = implode(', ', [given('name'), given('street'), given('city')]) . ': ' . given('kind');
    [$title, $about, $command, $parameters] = match ($script) {
        'cart' => ['Shop: your cart', given('add'), 6, [given('add'), $visitor['region']]],
        'login' => ['Shop: log in', given('customer'), 7, [given('customer')]],
        'shipping' => ['Shop: shipping', $where, 8, [given('kind')]],
        'billing' => ['Shop: billing', given('card'), 9, [given('card')]],
        'confirm' => ['Shop: order confirmed', $visitor['user'] ?? '', 10, [$visitor['user'] ?? '']],
    };
    match ($script) {
        'cart' => note('shop', ['cart' => [...$visitor['cart'] ?? [], given('add')]]),
        'login' => note('shop', ['user' => given('customer')]),
        'confirm' => note('shop', ['cart' => []]),
        default => null,
    };
    show($script, $title, $about, ask(SHOP, $command, ...$parameters));
}

function show(string $name, string $title, string $about, array $rows, string $kind = '', string $product = ''): void
{
    $page = begin($title);
    $page->put('<p>' . escape($about) . "</p>\n");
    if ($kind !== '') {
        $page->put("<img class=\"product\" src=\"/shop/images/$kind/" . escape($product) . ".gif\" alt=\"\">\n");
    }
    table($page, $rows);
    finish($page, "shopping/$name");
}
