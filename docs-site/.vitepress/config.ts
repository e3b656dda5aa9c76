import { apiPath, publicModules } from "../api.ts";
import { type Page, readSections } from "../pages.ts";

const entry = ({ title, path }: Page) => ({ text: title, link: path === "index" ? "/" : `/${path}` });
const sections = readSections();

export default {
  title: "Selvedge",
  description: "A TypeScript framework for AI agents with durable threads",
  lang: "en-GB",
  srcDir: "tmp",
  srcExclude: ["public/**"],
  outDir: "../dist/docs",
  cacheDir: "tmp/cache",
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    sidebar: [
      ...sections.map(({ name, pages }) => ({
        text: name,
        collapsed: name === "Packages",
        items: pages.map(entry),
      })),
      {
        text: "API reference",
        collapsed: true,
        items: publicModules().map((module) => ({ text: module.name, link: `/${apiPath(module)}` })),
      },
    ],
  },
};
