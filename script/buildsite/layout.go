package main

// layout is the HTML around the content of a page, as a format for fmt.Sprintf. Its arguments are
// the title, the relative path to the root of the site, the navigation, and the content.
const layout = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>%[1]s · gaffer</title>
<link rel="stylesheet" href="%[2]s/style.css">
</head>
<body>
<header><a href="%[2]s/index.html">gaffer</a> <a class="contents" href="#contents">Contents</a></header>
<div class="columns">
<nav id="contents" aria-label="Documentation">
%[3]s</nav>
<main>
%[4]s</main>
</div>
</body>
</html>
`

const style = `:root {
  color-scheme: light dark;
  --back: #fff; --text: #1f2933; --faint: #5b6875; --line: #dde3e9; --code: #f3f5f7; --link: #0b62b8;
}
@media (prefers-color-scheme: dark) {
  :root { --back: #12171d; --text: #d6deeb; --faint: #93a1af; --line: #2b3440; --code: #1b222a; --link: #7ab8ff; }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.6 system-ui, sans-serif }
a { color: var(--link); text-decoration: none }
a:hover { text-decoration: underline }
header { padding: .7rem 1.2rem; border-bottom: 1px solid var(--line); font-weight: 700 }
header a { color: var(--text) }
header .contents { display: none; float: right; color: var(--link); font-weight: 400 }
.columns { display: flex; max-width: 78rem; margin: 0 auto }
nav { flex: 0 0 15rem; padding: 1.2rem; font-size: .93rem; border-right: 1px solid var(--line) }
nav ul { list-style: none; margin: .2rem 0 .8rem; padding-left: 1rem }
nav summary { cursor: pointer; color: var(--faint) }
nav a[aria-current] { color: var(--text); font-weight: 600 }
main { flex: 1; min-width: 0; padding: 1.2rem 2rem 4rem; overflow-wrap: break-word }
h1, h2, h3 { line-height: 1.25; margin: 2rem 0 .7rem }
h1 { margin-top: .3rem }
h2 { padding-top: .6rem; border-top: 1px solid var(--line) }
code, pre { font: .87em/1.5 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--code) }
code { padding: .1em .3em; border-radius: 4px }
pre { padding: .8rem 1rem; overflow-x: auto; border-radius: 8px }
pre code { padding: 0; font-size: 1em }
img { max-width: 100%; height: auto; border-radius: 8px }
.table { overflow-x: auto }
table { border-collapse: collapse; font-size: .93rem }
th, td { text-align: left; vertical-align: top; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line) }
td:first-child code { white-space: nowrap }
@media (max-width: 50rem) {
  /* On a phone the page comes first, and the navigation below it. */
  .columns { flex-direction: column-reverse }
  header .contents { display: inline }
  nav { border-right: 0; border-top: 1px solid var(--line); padding: .6rem 1.2rem }
  main { padding: 1rem 1.2rem 3rem }
  td:first-child code { white-space: normal }
}
`
