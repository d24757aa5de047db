// Makes each benchmark of mitata a section of syscost, without a change of the benchmarks. Copy beside them and run
// node --import ./sections.mjs bench.mjs
import { existsSync } from 'node:fs';
import { B, flags, measure } from 'mitata';

const made = Number(process.env.SYSCOST_ITERATIONS ?? 100);
const fixed = { min_samples: made, max_samples: made, min_cpu_time: 0, batch_threshold: -1, gc: false };

B.prototype.run = async function (fail = false) {
  const all = Object.entries(this._args).reduce(
    (some, [name, values]) => values.flatMap(value => some.map(args => ({ ...args, [name]: value }))), [{}]);
  const names = [...this._names()];
  const runs = [];
  for (const [i, args] of all.entries()) {
    let mark = 'begin';
    const now = () => { // is called before and after each iteration, but those that warm up
      existsSync(`/.syscost/${mark}/${names[i]}`);
      mark = mark === 'begin' ? 'end' : 'begin';
      return 1e6 * performance.now();
    };
    const run = { args, name: names[i] };
    try { run.stats = await measure(this.f, { ...fixed, args, now }); } catch (error) { run.error = error; if (fail) throw error; }
    runs.push(run);
  }
  const kind = ['static', 'args'][Object.keys(this._args).length] ?? 'multi-args';
  return { kind, args: this._args, alias: this._name, group: this._group, runs,
    baseline: !!(this.flags & flags.baseline), style: { highlight: this._highlight, compact: !!(this.flags & flags.compact) } };
};
