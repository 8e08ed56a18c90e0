<?php
// The support site: no state between pages. Its downloads are files.

declare(strict_types=1);

const SUPPORT = 3;

function answer(string $script): void
{
    $id = given('id');
    $pages = [
        'index' => ['home', 'Support: home', 1, []],
        'search' => ['search', 'Support: search results', 2, [given('q')]],
        'catalog' => ['catalog', "Support: category $id", 3, [$id]],
        'product' => ['product', "Support: product $id", 4, [$id]],
        'file_catalog' => ['fileCatalog', "Support: files for $id", 5, [$id, given('category'), given('os'), given('lang')]],
        'file' => ['file', "Support: file $id", 6, [$id]],
    ];
    if (!isset($pages[$script])) {
        refuse(404);
        return;
    }
    [$operation, $title, $command, $parameters] = $pages[$script];
    $rows = ask(SUPPORT, $command, ...$parameters);
    $page = begin($title);
    foreach ($parameters as $parameter) {
        $page->put('<p>You asked for ' . escape($parameter) . "</p>\n");
    }
    table($page, $rows);
    finish($page, "support/$operation");
}
