import type {
  Outline,
  OutlineGroup,
  OutlineNode,
  OutlineRepeat,
  OutlineSleep,
  OutlineStep,
} from "./outline.ts";
import { stepsOf } from "./outline.ts";

interface Place {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** A step that is drawn as one box. */
export interface Box extends Place {
  node: OutlineStep | OutlineSleep;
}

/** What surrounds the steps of a group, a loop or an open workflow. */
export interface Frame extends Place {
  node: OutlineGroup | OutlineRepeat | OutlineStep;
  /** How many frames it stands in. */
  depth: number;
}

/** The condition of a branch, above the step it leads to. */
interface Condition extends Place {
  key: string;
  text: string;
}

export interface Edge {
  /** An SVG path. */
  path: string;
  /** The steps it leads to or comes from: it is taken when one of them has started, or is done. */
  keys: readonly string[];
  when: "started" | "done";
  /** A line back to the beginning of a loop. */
  back?: true;
}

export interface Layout {
  width: number;
  height: number;
  boxes: Box[];
  frames: Frame[];
  conditions: Condition[];
  edges: Edge[];
}

const BOX_WIDTH = 184;
const BOX_HEIGHT = 54;
const SMALL_WIDTH = 152;
const SMALL_HEIGHT = 38;
const GAP_X = 36;
const GAP_Y = 14;
const FORK = 34;
const PAD = 16;
const FRAME_HEAD = 30;
const CONDITION_HEIGHT = 24;
const BACK_HEIGHT = 20;

/** Something with a size that can be put somewhere. Lines meet it at the height `mid`, left and right. */
interface Block {
  width: number;
  height: number;
  mid: number;
  place(x: number, y: number): void;
}

/**
 * Where everything stands, from left to right. `open` has the keys of nested workflows that show their steps. Takes time
 * in proportion to the number of steps.
 */
export function layOut(outline: Outline, open: ReadonlySet<string>): Layout {
  const drawing: Layout = { width: 0, height: 0, boxes: [], frames: [], conditions: [], edges: [] };
  const block = new Drawing(drawing, open).series(outline, 0);
  block.place(PAD, PAD);
  drawing.width = block.width + 2 * PAD;
  drawing.height = block.height + 2 * PAD;
  return drawing;
}

class Drawing {
  readonly #out: Layout;
  readonly #open: ReadonlySet<string>;

  constructor(out: Layout, open: ReadonlySet<string>) {
    this.#out = out;
    this.#open = open;
  }

  series(nodes: Outline, depth: number): Block {
    const blocks = nodes.map((node) => this.#node(node, depth));
    const mid = Math.max(0, ...blocks.map((block) => block.mid));
    const below = Math.max(0, ...blocks.map((block) => block.height - block.mid));
    const width = blocks.reduce((sum, block) => sum + block.width, GAP_X * Math.max(0, blocks.length - 1));
    const place = (left: number, y: number): void => {
      let x = left;
      for (const [index, block] of blocks.entries()) {
        block.place(x, y + mid - block.mid);
        x += block.width;
        const next = nodes[index + 1];
        if (next) this.#edge(lineTo(x, y + mid, x + GAP_X), keysOf(next), "started");
        x += GAP_X;
      }
    };
    return { width, height: mid + below, mid, place };
  }

  #node(node: OutlineNode, depth: number): Block {
    switch (node.kind) {
      case "sleep":
        return this.#box(node, SMALL_WIDTH, SMALL_HEIGHT);
      case "step":
        return this.#step(node, depth);
      case "parallel":
      case "branch":
        return this.#frame(node, depth, this.#stack(node, depth + 1), 0);
      default:
        return this.#frame(node, depth, this.#repeated(node, depth + 1), PAD);
    }
  }

  #step(node: OutlineStep, depth: number): Block {
    if (node.steps && this.#open.has(node.key))
      return this.#frame(node, depth, this.series(node.steps, depth + 1), PAD);
    if (node.of === "map") return this.#box(node, SMALL_WIDTH, SMALL_HEIGHT);
    return this.#box(node, BOX_WIDTH, BOX_HEIGHT);
  }

  #box(node: OutlineStep | OutlineSleep, width: number, height: number): Block {
    const place = (x: number, y: number): void => void this.#out.boxes.push({ node, x, y, width, height });
    return { width, height, mid: height / 2, place };
  }

  /** `side` is the room left and right of the contents, which a line crosses. */
  #frame(node: Frame["node"], depth: number, inner: Block, side: number): Block {
    const width = inner.width + 2 * side;
    const height = FRAME_HEAD + inner.height + PAD;
    const mid = FRAME_HEAD + inner.mid;
    const keys = keysOf(node);
    const place = (x: number, y: number): void => {
      this.#out.frames.push({ node, depth, x, y, width, height });
      inner.place(x + side, y + FRAME_HEAD);
      if (side === 0) return;
      this.#edge(lineTo(x, y + mid, x + side), keys, "started");
      this.#edge(lineTo(x + width - side, y + mid, x + width), keys, "done");
    };
    return { width, height, mid, place };
  }

  #stack({ members }: OutlineGroup, depth: number): Block {
    const blocks = members.map(({ step, condition }) => ({
      block: this.#step(step, depth),
      head: condition === undefined ? 0 : CONDITION_HEIGHT,
      condition,
      key: step.key,
    }));
    const widest = Math.max(0, ...blocks.map(({ block }) => block.width));
    const width = widest + 2 * FORK;
    const height = blocks.reduce(
      (sum, { block, head }) => sum + head + block.height,
      GAP_Y * Math.max(0, blocks.length - 1),
    );
    const mid = height / 2;
    const place = (x: number, top: number): void => {
      let y = top;
      for (const { block, head, condition, key } of blocks) {
        const left = x + FORK;
        if (condition !== undefined) {
          const place = { x: left, y, width: block.width, height: head };
          this.#out.conditions.push({ key, text: condition, ...place });
        }
        y += head;
        const at = y + block.mid;
        this.#edge(curve(x, top + mid, left, at), [key], "started");
        block.place(left, y);
        const out = curve(left + block.width, at, x + width, top + mid, left + widest);
        this.#edge(out, [key], "done");
        y += block.height + GAP_Y;
      }
    };
    return { width, height, mid, place };
  }

  #repeated({ step }: OutlineRepeat, depth: number): Block {
    const body = this.#step(step, depth);
    const height = body.height + BACK_HEIGHT;
    const place = (x: number, y: number): void => {
      body.place(x, y);
      const [bottom, low] = [y + body.height, y + height - 4];
      const [from, to] = [x + body.width - 24, x + 24];
      const path = `M${from} ${bottom}C${from} ${low + 4} ${from - 8} ${low} ${from - 16} ${low}H${to + 16}C${to + 8} ${low} ${to} ${low + 4} ${to} ${bottom}`;
      this.#out.edges.push({ path, keys: [step.key], when: "started", back: true });
    };
    return { width: body.width, height, mid: body.mid, place };
  }

  #edge(path: string, keys: readonly string[], when: Edge["when"]): void {
    this.#out.edges.push({ path, keys, when });
  }
}

function lineTo(x: number, y: number, toX: number): string {
  return `M${x} ${y}H${toX}`;
}

/** Goes on at its height to `straightTo`, then to another height. */
function curve(x: number, y: number, toX: number, toY: number, straightTo: number = x): string {
  const bend = (toX - straightTo) / 2;
  return `M${x} ${y}H${straightTo}C${straightTo + bend} ${y} ${toX - bend} ${toY} ${toX} ${toY}`;
}

function keysOf(node: OutlineNode): string[] {
  return stepsOf(node).map(({ key }) => key);
}
