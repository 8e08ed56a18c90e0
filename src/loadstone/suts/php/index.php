<?php
// Bank, shop and support site behind any web server that speaks FastCGI, or has PHP within: every request that is for no
// file comes here.

declare(strict_types=1);

require __DIR__ . '/page.php';
require __DIR__ . '/backend.php';
require __DIR__ . '/visitor.php';

$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH) ?: '/';
[$site, $script] = array_pad(explode('/', ltrim($path, '/'), 2), 2, '');

if (!in_array($_SERVER['REQUEST_METHOD'], ['GET', 'HEAD', 'POST'], true)) {
    refuse(405);
    exit;
}
try {
    switch ($site) {
        case 'bank':
        case 'shop':
        case 'support':
            require __DIR__ . "/$site.php";
            answer($script);
            break;
        case '':
            $page = begin('PHP server');
            $page->put("<p>The bank, the shop and the support site are below this page.</p>\n");
            $page->finish(1024);
            break;
        case 'reset':
            reset_all();
            break;
        default:
            refuse(404);
    }
} catch (BackendError $error) {
    error_log("$path: " . $error->getMessage());
    refuse(502);
}

/** Forgets all sessions and resets the back end with the given load. */
function reset_all(): void
{
    if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
        refuse(404);
        return;
    }
    forget_all();
    foreach ([1, 2, 3] as $workload) {
        ask($workload, 0, '0', given('sessions') ?: '0');
    }
    begin('Reset')->finish(0);
}
