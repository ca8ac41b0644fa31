"""The style sheet and the script of the report page; without the script nothing is lost but the
read-out under the pointer."""

from runtime.report.style import DARK, FONT, LIGHT, SERIES, chart_css


def page_css() -> str:
    def variables(colours: dict[str, str]) -> str:
        return " ".join(f"--{name}: {value};" for name, value in colours.items())

    swatches = "\n".join(
        f".bg-{name} {{ background: var(--{name}); }}" for name in (*SERIES, "ink", "quiet")
    )
    named = {name: f"var(--{name})" for name in LIGHT}
    return f"""
:root {{ color-scheme: light dark; {variables(LIGHT)} }}
@media (prefers-color-scheme: dark) {{ :root {{ {variables(DARK)} }} }}
{_PAGE.replace("FONT", FONT)}
{swatches}
{chart_css(named)}
"""


_PAGE = """
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.55 FONT;
  -webkit-text-size-adjust: 100%; }
main { max-width: 1100px; margin: 0 auto; padding: 40px 24px 72px; }
h1 { font-size: 30px; line-height: 1.2; letter-spacing: -0.01em; margin: 0 0 6px; }
h2 { font-size: 21px; line-height: 1.3; margin: 56px 0 6px; }
p { margin: 8px 0; max-width: 76ch; }
.badge { display: inline-block; font-size: 13px; font-weight: 600; padding: 2px 10px;
  border: 1px solid var(--rule); border-radius: 99px; color: var(--quiet); margin: 0 0 14px; }
.summary { font-size: 19px; line-height: 1.5; margin: 20px 0; max-width: 68ch; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 2px 18px; margin: 14px 0;
  font-size: 15px; }
dt { color: var(--quiet); }
dd { margin: 0; }
.aside, .remark { color: var(--quiet); font-size: 14px; }
.remark { display: block; font-weight: 400; }
.unit { color: var(--quiet); font-weight: 400; }
figure { margin: 22px 0 0; }
figcaption { font-size: 15px; margin-bottom: 4px; }
.read-out { float: right; color: var(--quiet); font-size: 13px;
  font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; }
.narrow { display: none; }
.legend { position: sticky; top: 0; z-index: 2; display: flex; flex-wrap: wrap; gap: 4px 20px;
  max-width: none; padding: 8px 0; margin: 8px 0 0; background: var(--page); font-size: 14px;
  font-weight: 600; border-bottom: 1px solid var(--faint); }
.swatch { display: inline-block; width: 10px; height: 10px; border-radius: 50%;
  margin-right: 7px; }
.scroll { overflow-x: auto; margin: 14px 0; }
table { border-collapse: collapse; font-size: 13.5px; line-height: 1.35;
  font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 7px 7px; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--faint); }
thead th { font-size: 12px; font-weight: 600; color: var(--quiet); vertical-align: bottom;
  border-bottom-color: var(--rule); }
thead td, thead .group { border-bottom: 0; padding-bottom: 0; }
thead .group { color: var(--ink); white-space: nowrap; padding-left: 18px; }
thead .unit { display: block; }
tbody th { font-weight: 600; white-space: nowrap; position: sticky; left: 0;
  background: var(--page); }
.number { text-align: right; white-space: nowrap; }
.number.first { padding-left: 18px; }
.interval { display: block; font-size: 12px; color: var(--quiet); }
.own th, .own td { background: var(--raised); }
.missed { color: var(--quiet); }
.worse { color: var(--vermillion); }
.published tbody th { white-space: normal; font-weight: 500; min-width: 210px; position: static; }
.rivalry { width: auto; }
.note { color: var(--quiet); font-size: 13px; min-width: 240px; }
.source { color: var(--ink); }
.verdict { font-weight: 600; white-space: nowrap; }
.within { color: var(--green); }
.outside { color: var(--vermillion); }
footer { margin-top: 64px; padding-top: 16px; border-top: 1px solid var(--faint); }
@media (max-width: 720px) {
  main { padding: 24px 16px 48px; }
  h1 { font-size: 25px; }
  h2 { margin-top: 44px; }
  .summary { font-size: 17px; }
  .wide { display: none; }
  .narrow { display: block; max-width: 520px; }
  .read-out { float: none; display: block; }
}
@media print { .legend { position: static; } figure, tr { break-inside: avoid; } }
"""

SCRIPT = """
const data = JSON.parse(document.getElementById('read-out').textContent);
const svgs = Array.from(document.querySelectorAll('svg.panel'));
function show(step) {
  svgs.forEach(svg => {
    const left = Number(svg.dataset.left), right = Number(svg.dataset.right);
    const x = left + (step + 0.5) / data.steps * (right - left);
    const cursor = svg.querySelector('.cursor');
    cursor.setAttribute('x1', x);
    cursor.setAttribute('x2', x);
    cursor.style.opacity = 0.35;
  });
  document.querySelectorAll('figure[data-panel]').forEach(figure => {
    const values = data.panels[figure.dataset.panel].map(line => {
      const value = line.values[step / data.stride];
      return line.name + ' ' + (value == null ? '\\u2013' : value.toLocaleString('en'));
    });
    const seconds = Number((step * data.step_s).toPrecision(6));
    const words = [seconds + ' s'].concat(values).join('  \\u00b7  ');
    figure.querySelector('output').textContent = words;
  });
}
svgs.forEach(svg => svg.addEventListener('pointermove', event => {
  const box = svg.getBoundingClientRect();
  const scale = svg.viewBox.baseVal.width / box.width;
  const left = Number(svg.dataset.left), right = Number(svg.dataset.right);
  const share = ((event.clientX - box.left) * scale - left) / (right - left);
  const step = Math.max(0, Math.min(data.steps - 1, Math.floor(share * data.steps)));
  show(step - step % data.stride);
}));
"""
