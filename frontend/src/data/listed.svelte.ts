/**
 * The rows of one list, page by page. While only the first page is there it is asked again every few seconds; once more is
 * read, or the past is, nothing moves under the reader, who can ask again.
 */
import { type ApiError, api, apiError, type ListName } from "../api/client";
import { cursorOf } from "../api/pages";
import type { Listed, ListFilter } from "../contract/api.gen";

export type Row = Listed["results"][number];
const AGAIN_MS = 5_000;

export class ListedRows {
  rows = $state.raw<readonly Row[]>([]);
  total = $state<number | null>(null);
  problem = $state.raw<ApiError | null>(null);
  isAsking = $state(false);
  /** There is more to read. */
  hasMore = $state(false);

  private next: string | null = null;
  private pages = 0;
  private turn = 0; // answers to earlier questions are left alone
  private question: { readonly id: number; readonly query: ListFilter } | null = null;

  constructor(private readonly what: ListName) {}

  /** For use in an effect: asks now and again until the returned function is called. */
  follow(id: number, query: ListFilter, isPast = false): () => void {
    this.question = { id, query };
    void this.refresh();
    const timer = setInterval(() => {
      if (!isPast && this.pages <= 1 && !this.isAsking && !document.hidden) void this.refresh();
    }, AGAIN_MS);
    return () => {
      this.turn += 1;
      clearInterval(timer);
    };
  }

  /** Reads the first page anew. */
  refresh(): Promise<void> {
    return this.ask(null);
  }

  /** Reads the next page, if there is one and none is on its way. Once that failed, `refresh` comes first. */
  async more(): Promise<void> {
    if (this.next !== null && !this.isAsking && this.problem === null) await this.ask(this.next);
  }

  private async ask(cursor: string | null): Promise<void> {
    if (!this.question) return;
    this.turn += 1;
    const { turn, question } = this;
    this.isAsking = true;
    try {
      const page = await api.listed(question.id, this.what, question.query, cursor);
      if (turn === this.turn) this.take(page, cursor !== null);
    } catch (error) {
      if (turn === this.turn) this.problem = apiError(error);
    } finally {
      if (turn === this.turn) this.isAsking = false;
    }
  }

  private take(page: Listed, isMore: boolean): void {
    this.rows = isMore ? [...this.rows, ...page.results] : page.results;
    this.pages = isMore ? this.pages + 1 : 1;
    this.total = page.total ?? this.total;
    this.next = cursorOf(page.next);
    this.hasMore = this.next !== null;
    this.problem = null;
  }
}
