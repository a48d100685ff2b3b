import type { CheckOptions } from "foxwedge";

/** A middleware for `createAgent`: repairs the messages of every request to the model. */
export function repairMiddleware(options?: CheckOptions): {
  name: string;
  wrapModelCall: (request: any, handler: (request: any) => any) => any;
};

/** Messages of LangChain, repaired. Every message that is not touched is the same object. */
export function repairMessages<Message>(messages: Message[], options?: CheckOptions): Message[];
