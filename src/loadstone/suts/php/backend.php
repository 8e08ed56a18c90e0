<?php
// Asking the back-end simulator, over a connection that this process keeps.

declare(strict_types=1);

final class BackendError extends Exception
{
}

const PATIENCE_S = 20;

/** Sends a command; the rows of the answer. */
function ask(int $workload, int $command, string ...$parameters): array
{
    $query = implode('&', [$workload, $command, ...array_map('rawurlencode', $parameters)]);
    $answer = exchange($query) ?? exchange($query); // a connection that was kept may have ended since
    if ($answer === null) {
        throw new BackendError('the back end does not answer');
    }
    if (!preg_match('~<pre>\n(.*?)</pre>~s', $answer, $found)) {
        throw new BackendError('the back end answers without data');
    }
    $lines = explode("\n", rtrim($found[1], "\n"));
    if (array_shift($lines) !== '0') {
        throw new BackendError('the back end refuses: ' . ($lines[0] ?? ''));
    }
    return array_map(fn ($line) => explode('&', $line), $lines);
}

/** The body of one answer; none where the connection ended. */
function exchange(string $query): ?string
{
    [$host, $port] = explode(':', getenv('LOADSTONE_BACKEND'));
    $line = @pfsockopen($host, (int) $port, $number, $why, PATIENCE_S);
    if ($line === false) {
        throw new BackendError("the back end cannot be reached: $why");
    }
    stream_set_timeout($line, PATIENCE_S);
    $body = @fwrite($line, "GET /?$query HTTP/1.1\r\nHost: backend\r\n\r\n") ? read_answer($line) : null;
    if ($body === null) {
        fclose($line);
    }
    return $body;
}

/** @param resource $line */
function read_answer($line): ?string
{
    $length = null;
    if (!str_starts_with((string) fgets($line), 'HTTP/1.1 200')) {
        return null;
    }
    while (($header = fgets($line)) !== false && rtrim($header) !== '') {
        if (stripos($header, 'content-length:') === 0) {
            $length = (int) substr($header, 15);
        }
    }
    if ($length === null) {
        return null;
    }
    $body = (string) stream_get_contents($line, $length);
    return strlen($body) === $length ? $body : null;
}
