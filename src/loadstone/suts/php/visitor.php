<?php
// Who visits, by cookie, in PHP's own sessions: a site's cookie has the site's name.

declare(strict_types=1);

/** Life of a session that nobody uses. */
const LIFE_S = 900;

/** What is known of the visitor; none where there is no session, or it is no more. */
function visitor(string $site): ?array
{
    $key = $_COOKIE[$site] ?? '';
    if (!is_string($key) || !preg_match('~^[0-9a-v]{32}$~', $key) || !is_file(session_file($key))) {
        return null;
    }
    open_session($site, ['read_and_close' => true]);
    $isFresh = time() - ($_SESSION['seen'] ?? 0) < LIFE_S;
    return $isFresh ? $_SESSION : null;
}

/** Begins a session. */
function welcome(string $site, array $known): void
{
    open_session($site, []);
    session_regenerate_id(true);
    $_SESSION = [...$known, 'seen' => time()];
    session_write_close();
}

/** Notes something about a visitor. */
function note(string $site, array $known): void
{
    open_session($site, []);
    $_SESSION = [...$_SESSION, ...$known, 'seen' => time()];
    session_write_close();
}

/** Ends a session. */
function farewell(string $site): void
{
    open_session($site, []);
    session_destroy();
    setcookie($site, '', ['expires' => 1, 'path' => '/']);
}

function forget_all(): void
{
    foreach (glob(session_save_path() . '/sess_*') as $file) {
        @unlink($file);
    }
}

function open_session(string $site, array $how): void
{
    session_name($site);
    session_start($how + ['cookie_path' => '/', 'cookie_httponly' => true, 'use_strict_mode' => true]);
}

function session_file(string $key): string
{
    return session_save_path() . "/sess_$key";
}
