<?php
// PHP loop: speaks the protocol of languages/README.md around a snippet.
//
// Everything is at file scope: set-up and body share its variables, which are compiled ones as in a function, and a
// prelude may contain declare, namespace and use. Without opcache, PHP compiles each statement and removes only constants.
{{prelude}}

$syscost_in = fopen('php://fd/3', 'r');
$syscost_out = fopen('php://fd/4', 'w');
{{setup}}

fwrite($syscost_out, 'ready pid=' . getmypid() . "\n");
while (($syscost_line = fgets($syscost_in)) !== false) {
    [$syscost_n, $syscost_k] = array_map('intval', explode(' ', trim($syscost_line)));
    $syscost_reply = '';
    $syscost_first = $syscost_last = getrusage();
    for ($syscost_batch = 0; $syscost_batch < $syscost_k; $syscost_batch++) {
        $syscost_start = hrtime(true);
        for ($syscost_i = 0; $syscost_i < $syscost_n; $syscost_i++) {
            {{body}}
        }
        $syscost_end = hrtime(true);
        $syscost_use = getrusage();
        $syscost_switches = $syscost_use['ru_nivcsw'] - $syscost_last['ru_nivcsw'];
        $syscost_reply .= ($syscost_end - $syscost_start) . ' ' . $syscost_switches . "\n";
        $syscost_last = $syscost_use;
    }
    $syscost_cpu = [];
    foreach (['ru_utime', 'ru_stime'] as $syscost_mode) {
        $syscost_seconds = $syscost_last["$syscost_mode.tv_sec"] - $syscost_first["$syscost_mode.tv_sec"];
        $syscost_micros = $syscost_last["$syscost_mode.tv_usec"] - $syscost_first["$syscost_mode.tv_usec"];
        $syscost_cpu[] = $syscost_seconds * 1000000000 + $syscost_micros * 1000;
    }
    $syscost_cpu[] = $syscost_last['ru_minflt'] - $syscost_first['ru_minflt'];
    $syscost_cpu[] = $syscost_last['ru_majflt'] - $syscost_first['ru_majflt'];
    fwrite($syscost_out, $syscost_reply . 'total ' . implode(' ', $syscost_cpu) . "\n");
}
