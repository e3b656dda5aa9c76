/** Well-known models by provider, strongest first. Plain data; any other name works too. */
export const MODEL_CATALOGUE: Readonly<Record<string, readonly string[]>> = {
  openai: ["gpt-5.5", "gpt-5.5-mini", "gpt-5", "gpt-5-mini"],
  anthropic: ["claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-4-5"],
  google: ["gemini-3-pro", "gemini-2.5-pro", "gemini-2.5-flash"],
  xai: ["grok-4", "grok-code-fast-1"],
  mistral: ["mistral-large-latest", "devstral-medium-latest", "mistral-small-latest"],
  groq: ["openai/gpt-oss-120b", "llama-3.3-70b-versatile"],
  deepseek: ["deepseek-chat", "deepseek-reasoner"],
  cerebras: ["gpt-oss-120b", "qwen-3-coder-480b"],
  openrouter: ["anthropic/claude-sonnet-4.5", "openai/gpt-5"],
  moonshot: ["kimi-k2-thinking", "kimi-k2-turbo-preview"],
  zai: ["glm-4.6"],
};
