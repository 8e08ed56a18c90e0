<?php
// HTML pages of a declared length: a marker stands at each multiple of 4,096 bytes, and no piece of text lies across one.

declare(strict_types=1);

const BLOCK = 4096;
const MARKER = 15;
const FOOTER = '</div></body></html>';

final class Page
{
    private string $text = '';

    public function __construct(string $title)
    {
        $this->put('<!doctype html><html><head><title>');
        $this->put(escape($title));
        $this->put("</title></head><body>\n");
    }

    /** Adds markup. */
    public function put(string $markup): void
    {
        $room = BLOCK - strlen($this->text) % BLOCK;
        if (strlen($markup) > $room && strlen($markup) <= BLOCK - MARKER) {
            $this->text .= str_repeat(' ', $room);
        }
        while ($markup !== '') {
            $length = strlen($this->text);
            if ($length > 0 && $length % BLOCK === 0) {
                $this->text .= marker(intdiv($length, BLOCK));
                $length += MARKER;
            }
            $room = BLOCK - $length % BLOCK;
            $this->text .= substr($markup, 0, $room);
            $markup = substr($markup, $room);
        }
    }

    /** Sends the page, filled up to so many bytes; longer if it already is. */
    public function finish(int $length): void
    {
        $this->put("<div>\n");
        $start = strlen($this->text);
        $end = max($length, $start + strlen(FOOTER) + MARKER);
        $footer = footer_place($end);
        $this->text .= filler($footer - $start) . FOOTER . str_repeat("\n", $end - $footer - strlen(FOOTER));
        for ($block = max(1, intdiv($start + BLOCK - 1, BLOCK)); $block * BLOCK < $end; $block++) {
            $at = $block * BLOCK;
            $this->text = substr_replace($this->text, substr(marker($block), 0, $end - $at), $at, min(MARKER, $end - $at));
        }
        header('Content-Type: text/html; charset=utf-8');
        header('Content-Length: ' . strlen($this->text));
        echo $this->text;
    }
}

/** The marker of a block, counted from 1; block 0 has none. */
function marker(int $block): string
{
    return sprintf('<!--%08d-->', $block % 100000000);
}

/** Where the footer begins so that it ends the page, or the last block where a marker would cut it. */
function footer_place(int $end): int
{
    $last = intdiv($end - 1, BLOCK) * BLOCK;
    return $last > 0 && $last + MARKER > $end - strlen(FOOTER) ? $last - strlen(FOOTER) : $end - strlen(FOOTER);
}

/** Text that says nothing. */
function filler(int $length): string
{
    static $words = "nothing more is said about this here, and what follows says no more than that\n";
    return substr(str_repeat($words, intdiv($length, strlen($words)) + 1), 0, $length);
}

function escape(string $text): string
{
    return htmlspecialchars($text, ENT_COMPAT | ENT_SUBSTITUTE, 'UTF-8');
}

/** What is declared of a page: its length and the files that it embeds. */
function facts(string $operation): array
{
    static $facts = null;
    $facts ??= require __DIR__ . '/facts.php';
    return $facts[$operation];
}

function begin(string $title): Page
{
    $page = new Page($title);
    $page->put('<h1>' . escape($title) . "</h1>\n");
    return $page;
}

/** Adds the files that the page embeds, and sends it. */
function finish(Page $page, string $operation): void
{
    ['bytes' => $bytes, 'links' => $links] = facts($operation);
    foreach ($links as $link) {
        $page->put("<img src=\"$link\" alt=\"\">\n");
    }
    $page->finish($bytes);
}

function table(Page $page, array $rows): void
{
    $page->put("<table>\n");
    foreach ($rows as $row) {
        $page->put('<tr>' . implode('', array_map(fn ($cell) => '<td>' . escape($cell) . '</td>', $row)) . "</tr>\n");
    }
    $page->put("</table>\n");
}

/** A parameter of the query or of the form; empty where it was not sent. */
function given(string $name): string
{
    $value = $_GET[$name] ?? $_POST[$name] ?? '';
    return is_string($value) ? $value : '';
}

function refuse(int $status): void
{
    http_response_code($status);
    header('Content-Type: text/plain');
    echo "$status\n";
}
