// Twenty benchmarks; the one that PLANTED names makes a call of stat more.
import { statSync } from 'node:fs';
import { bench, run } from 'mitata';

function work(stats) {
  for (let i = 0; i < stats; i++) statSync('/etc/passwd');
}

for (let number = 0; number < 20; number++) {
  const name = 'b' + String(number).padStart(2, '0');
  const stats = number % 4 + 1 + (process.env.PLANTED === name);
  bench(name, () => work(stats));
}

await run();
