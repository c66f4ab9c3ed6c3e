"""A third part of the architectures that lifting is measured on: text, speech, time series and the text side of models of several kinds.

Taken where the structure differs from what lifting_models.py and lifting_text_models.py have. Encoders with decoders are measured as
an encoder and as a decoder that reads what the encoder made as an input of another length.
"""
import numpy as np

from lifting_models import (
    AUDIO,
    DECODER,
    FEATURES,
    MIXER,
    MODELS,
    NO_CALL,
    SMALL,
    SPEECH,
    TEXT,
    Architecture,
    _add,
    _audio,
    _features,
    _ids,
    _masked,
)
from lifting_text_models import (
    BART,
    NO_CACHE,
    PAIR,
    SEAMLESS,
    UNITS,
    _after_encoder,
    _experts_at_once,
    _masked_pair,
    _pair,
    _random,
)

CHUNKS = ([(140,), (205,), (300,)], [(50,), (400,)])  # of 64 tokens, three and more
RAGGED_FRAMES = ([(61,), (101,), (150,)], [(77,), (163,)])  # whose chunks of a quarter are not all whole


def _numbers(seed, high, *shape):
    return np.random.default_rng(seed).integers(0, high, shape)


def _boxes(high, sides=4):
    """Words with the boxes that they stand in."""
    def make(n):
        corners = np.sort(np.random.default_rng(n).integers(0, high, (1, n, 2, 2)), axis=2).reshape(1, n, 4)
        return _ids(n) | dict(bbox=corners if sides == 4 else (corners[..., [0, 1, 2, 1, 2, 3, 0, 3]] / high).astype(np.float32))
    return make


def _series(name, width):
    def make(n):
        return {name: _random(n, 1, n, width)}
    return make


def _inside(name, module, config, model, options, inputs, sizes, call):
    """A class that transformers keeps to its module."""
    def make():
        import importlib

        import transformers
        own = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
        return getattr(own, model)(getattr(transformers, config)(**options))
    MODELS[name] = Architecture(name, make, inputs, *sizes, call)


def _encoder(m):
    return m.get_encoder()


def _decoder(m):
    return m.get_decoder()


# Encoders of text.
_add("distilbert", "DistilBertConfig", "DistilBertModel", dict(vocab_size=100, dim=32, hidden_dim=48, n_layers=2, n_heads=4), _masked, TEXT, NO_CALL)
_add("distilbert_sinusoid", "DistilBertConfig", "DistilBertModel", dict(vocab_size=100, dim=32, hidden_dim=48, n_layers=2, n_heads=4,
     sinusoidal_pos_embds=True), _masked, TEXT, NO_CALL)
_add("rembert", "RemBertConfig", "RemBertModel", SMALL | dict(input_embedding_size=24), _masked, TEXT, NO_CALL)
_add("ibert", "IBertConfig", "IBertModel", SMALL | dict(quant_mode=True), _masked, TEXT, NO_CALL)
_add("megatron_bert", "MegatronBertConfig", "MegatronBertModel", SMALL, _masked, TEXT, NO_CALL)
_add("mobilebert", "MobileBertConfig", "MobileBertModel", SMALL | dict(embedding_size=16, intra_bottleneck_size=16), _masked, TEXT, NO_CALL)
_add("roc_bert", "RoCBertConfig", "RoCBertModel", SMALL | dict(pronunciation_embed_dim=16, pronunciation_vocab_size=90, shape_embed_dim=16,
     shape_vocab_size=90), lambda n: _ids(n) | dict(input_shape_ids=_numbers(n, 90, 1, n), input_pronunciation_ids=_numbers(n + 1, 90, 1, n)), TEXT, NO_CALL)
_add("splinter", "SplinterConfig", "SplinterModel", SMALL, _masked, TEXT, NO_CALL)
_add("ernie", "ErnieConfig", "ErnieModel", SMALL | dict(use_task_id=True), _masked, TEXT, NO_CALL)
_add("luke", "LukeConfig", "LukeModel", SMALL | dict(entity_vocab_size=50, entity_emb_size=16), lambda n, m: _ids(n) | dict(
     entity_ids=_numbers(m, 50, 1, m), entity_position_ids=_numbers(m, n, 1, m, 5), entity_attention_mask=np.ones((1, m), np.int64)), PAIR, NO_CALL)
_add("tapas", "TapasConfig", "TapasModel", SMALL, lambda n: _ids(n) | dict(token_type_ids=np.stack([_numbers(n + i, 2 + i % 3 if i != 3 else 2, n)
     for i in range(7)], -1)[None] % 2), TEXT, NO_CALL)
_add("tapas_whole", "TapasConfig", "TapasModel", SMALL | dict(reset_position_index_per_cell=False), lambda n: _ids(n) | dict(
     token_type_ids=_numbers(n, 2, 1, n, 7)), TEXT, NO_CALL)
_add("lilt", "LiltConfig", "LiltModel", SMALL | dict(max_2d_position_embeddings=64, hidden_size=48), _boxes(60), TEXT, NO_CALL)
_add("markuplm", "MarkupLMConfig", "MarkupLMModel", SMALL | dict(max_depth=6, xpath_unit_hidden_size=8), lambda n: _ids(n) | dict(
     xpath_tags_seq=_numbers(n, 200, 1, n, 6), xpath_subs_seq=_numbers(n + 1, 200, 1, n, 6)), TEXT, NO_CALL)
_add("layoutlm", "LayoutLMConfig", "LayoutLMModel", SMALL | dict(max_2d_position_embeddings=64), _boxes(60), TEXT, NO_CALL)
_add("layoutlmv3_boxes", "LayoutLMv3Config", "LayoutLMv3Model", SMALL | dict(visual_embed=False, coordinate_size=6, shape_size=4,
     max_2d_position_embeddings=64, has_spatial_attention_bias=True, has_relative_attention_bias=True), _boxes(60), TEXT, NO_CALL)
_add("bros", "BrosConfig", "BrosModel", SMALL | dict(hidden_size=128), _boxes(60, 8), TEXT, NO_CALL)
_add("udop_encoder", "UdopConfig", "UdopEncoderModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, image_size=32,
     max_2d_position_embeddings=64), lambda n: _ids(n) | dict(bbox=(_boxes(60)(n)["bbox"] / 60).astype(np.float32)), TEXT, {"return_dict": False})
_add("xmod", "XmodConfig", "XmodModel", SMALL | dict(languages=["en_XX", "de_DE"], default_language="de_DE"), _masked, TEXT, NO_CALL)
_add("data2vec_text", "Data2VecTextConfig", "Data2VecTextModel", SMALL, _masked, TEXT, NO_CALL)
_add("roberta_prelayernorm", "RobertaPreLayerNormConfig", "RobertaPreLayerNormModel", SMALL, _masked, TEXT, NO_CALL)
_add("nomic_bert", "NomicBertConfig", "NomicBertModel", SMALL, _masked, TEXT, NO_CALL)
_add("eurobert", "EuroBertConfig", "EuroBertModel", SMALL, _masked, TEXT, NO_CALL)
_add("jina_embeddings_v3", "JinaEmbeddingsV3Config", "JinaEmbeddingsV3Model", SMALL, _masked, TEXT, NO_CALL)
_add("flaubert", "FlaubertConfig", "FlaubertModel", dict(vocab_size=100, emb_dim=32, n_layers=2, n_heads=4, sinusoidal_embeddings=True),
     _ids, TEXT, NO_CALL)
_add("reformer_local", "ReformerConfig", "ReformerModel", dict(vocab_size=100, hidden_size=32, attention_head_size=8, num_attention_heads=4,
     attn_layers=["local", "local"], feed_forward_size=48, local_attn_chunk_length=8, axial_pos_embds=False, max_position_embeddings=512), _ids,
     ([(24,), (40,), (64,)], [(48,), (80,)]), NO_CALL)
_add("reformer_axial", "ReformerConfig", "ReformerModel", dict(vocab_size=100, hidden_size=256, attention_head_size=8, num_attention_heads=4,
     attn_layers=["local"], feed_forward_size=48, local_attn_chunk_length=8, axial_pos_shape=[64, 64], axial_pos_embds_dim=[64, 192]), _ids,
     ([(24,), (40,), (64,)], [(48,), (80,)]), NO_CALL)
_add("longt5_global", "LongT5Config", "LongT5EncoderModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, local_radius=7,
     encoder_attention_type="transient-global", global_block_size=4), _ids, TEXT, NO_CALL)
_add("cpmant", "CpmAntConfig", "CpmAntModel", dict(vocab_size=100, hidden_size=32, num_attention_heads=8, dim_head=4, dim_ff=48, num_hidden_layers=2,
     prompt_length=4), _ids, TEXT)
_add("big_bird_pegasus", "BigBirdPegasusConfig", "BigBirdPegasusModel", BART | dict(block_size=4, num_random_blocks=1), lambda n: _ids(n) | dict(
     attention_mask=np.ones((1, n), np.int64)), ([(64,), (96,), (120,)], [(80,), (128,)]), {"return_dict": False}, _encoder)
_add("esm_learned", "EsmConfig", "EsmModel", SMALL | dict(position_embedding_type="absolute", mask_token_id=3, token_dropout=True), _masked, TEXT, NO_CALL)
_add("bert_generation", "BertGenerationConfig", "BertGenerationEncoder", SMALL, _masked, TEXT, {"return_dict": False, "use_cache": False})
_add("mpnet_masked", "MPNetConfig", "MPNetModel", SMALL, _masked, TEXT, NO_CALL)
_add("canine_odd", "CanineConfig", "CanineModel", SMALL | dict(local_transformer_stride=16, num_hash_functions=4, num_hash_buckets=512, type_vocab_size=16),
     _masked, ([(40,), (70,), (100,)], [(50,), (115,)]), NO_CALL)
_add("funnel_pooled", "FunnelConfig", "FunnelModel", dict(vocab_size=100, block_sizes=[1, 2, 1], d_model=32, n_head=4, d_head=8, d_inner=48,
     attention_type="factorized"), _masked, TEXT, NO_CALL)
# Encoders with decoders.
for _name, _cls in (("mbart", "MBart"), ("blenderbot", "Blenderbot"), ("plbart", "PLBart"), ("mvp", "Mvp"), ("blenderbot_small", "BlenderbotSmall")):
    _add(_name, f"{_cls}Config", f"{_cls}Model", BART, _masked_pair, PAIR, NO_CACHE)
_add("fsmt", "FSMTConfig", "FSMTModel", {key: value for key, value in BART.items() if key != "vocab_size"} | dict(src_vocab_size=100, tgt_vocab_size=100,
     langs=["en", "de"]), _masked_pair, PAIR, {"use_cache": False, "return_dict": False})
_add("nllb_moe", "NllbMoeConfig", "NllbMoeModel", BART | dict(num_experts=4, expert_capacity=64, encoder_sparse_step=2, decoder_sparse_step=2), _masked_pair,
     PAIR, NO_CACHE, _experts_at_once)
_add("bart_encoder", "BartConfig", "BartModel", BART, _masked, TEXT, NO_CALL, _encoder)
_add("pegasus_encoder", "PegasusConfig", "PegasusModel", BART, _ids, TEXT, NO_CALL, _encoder)
_add("bart_decoder", "BartConfig", "BartModel", BART, _after_encoder, PAIR, NO_CACHE, _decoder)
_add("pegasus_decoder", "PegasusConfig", "PegasusModel", BART, _after_encoder, PAIR, NO_CACHE, _decoder)
_add("m2m_100_decoder", "M2M100Config", "M2M100Model", BART, _after_encoder, PAIR, NO_CACHE, _decoder)
_add("led_decoder", "LEDConfig", "LEDModel", BART | dict(attention_window=8), _after_encoder, PAIR, NO_CACHE, _decoder)
_add("t5_decoder", "T5Config", "T5Model", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4), _after_encoder, PAIR, NO_CACHE,
     _decoder)
_add("umt5_decoder", "UMT5Config", "UMT5Model", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4), _after_encoder, PAIR, NO_CACHE,
     _decoder)
_add("big_bird_pegasus_decoder", "BigBirdPegasusConfig", "BigBirdPegasusModel", BART, _after_encoder, PAIR, NO_CACHE, _decoder)
_add("trocr_decoder", "TrOCRConfig", "TrOCRForCausalLM", dict(vocab_size=100, d_model=32, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48),
     _after_encoder, PAIR, NO_CACHE)
_add("trocr_decoder_sinusoid", "TrOCRConfig", "TrOCRForCausalLM", dict(vocab_size=100, d_model=32, decoder_layers=2, decoder_attention_heads=4,
     decoder_ffn_dim=48, use_learned_position_embeddings=False), _after_encoder, PAIR, NO_CACHE)
_add("prophetnet_decoder", "ProphetNetConfig", "ProphetNetModel", dict(vocab_size=100, hidden_size=32, encoder_ffn_dim=48, num_encoder_layers=1,
     num_encoder_attention_heads=4, decoder_ffn_dim=48, num_decoder_layers=2, num_decoder_attention_heads=4, pad_token_id=0), _after_encoder, PAIR, NO_CACHE,
     _decoder)
_add("bert_decoder", "BertConfig", "BertModel", SMALL | dict(is_decoder=True, add_cross_attention=True), _after_encoder, PAIR, NO_CACHE)
_add("udop", "UdopConfig", "UdopModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, image_size=32,
     max_2d_position_embeddings=64), lambda n, m: _pair(n, m) | dict(bbox=(_boxes(60)(n)["bbox"] / 60).astype(np.float32)), PAIR, NO_CACHE)
_GEMMA = DECODER | dict(sliding_window=16, query_pre_attn_scalar=8)
_add("t5gemma", "T5GemmaConfig", "T5GemmaModel", dict(vocab_size=100), _masked_pair, PAIR, NO_CACHE, None,
     {"encoder": ("T5GemmaModuleConfig", _GEMMA), "decoder": ("T5GemmaModuleConfig", _GEMMA | dict(cross_attention_hidden_size=32))})
# Decoders.
for _name, _cls, _options in (
        ("gemma", "Gemma", {}), ("gemma3n", "Gemma3nText", dict(num_hidden_layers=4, sliding_window=16, vocab_size_per_layer_input=100,
                                                                hidden_size_per_layer_input=8, num_kv_shared_layers=2, laurel_rank=8,
                                                                layer_types=["sliding_attention", "full_attention"] * 2)),
        ("gemma4", "Gemma4Text", dict(sliding_window=16, vocab_size_per_layer_input=100, hidden_size_per_layer_input=8, global_head_dim=16,
                                      layer_types=["sliding_attention", "full_attention"])),
        ("nemotron", "Nemotron", {}), ("ministral", "Ministral", dict(sliding_window=16, layer_types=["sliding_attention", "full_attention"])),
        ("ministral3", "Ministral3", {}), ("smollm3", "SmolLM3", dict(no_rope_layer_interval=2, num_hidden_layers=2)), ("glm", "Glm", {}),
        ("helium", "Helium", {}), ("olmo", "Olmo", {}), ("olmo3", "Olmo3", dict(sliding_window=16)), ("cohere", "Cohere", dict(use_qk_norm=True)),
        ("arcee", "Arcee", {}), ("bitnet", "BitNet", {}), ("ernie4_5", "Ernie4_5", {}), ("hunyuan_v1_dense", "HunYuanDenseV1", {}),
        ("seed_oss", "SeedOss", {}), ("apertus", "Apertus", {}), ("nanochat", "NanoChat", {}), ("persimmon", "Persimmon", {}), ("cwm", "Cwm", {}),
        ("vaultgemma", "VaultGemma", dict(sliding_window=16, query_pre_attn_scalar=8, layer_types=["sliding_attention", "full_attention"])),
        ("doge", "Doge", dict(keep_window_size=16)), ("jais2", "Jais2", {}), ("exaone4_nope", "Exaone4", dict(
            sliding_window=16, layer_types=["sliding_attention", "full_attention"])),
        ("modernbert_decoder", "ModernBertDecoder", dict(local_attention=16, global_attn_every_n_layers=2, cls_token_id=1, sep_token_id=2)),
        ("minicpm3", "MiniCPM3", dict(num_key_value_heads=4, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8)),
        ("youtu", "Youtu", dict(head_dim=4, num_key_value_heads=4, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8)),
        ("hrm_text", "HrmText", {}), ("gpt_neox_japanese", "GPTNeoXJapanese", dict(intermediate_multiple_size=2)),
        ("phi3_long", "Phi3", dict(original_max_position_embeddings=512, max_position_embeddings=1024, rope_parameters=dict(
            rope_type="longrope", rope_theta=10000.0, partial_rotary_factor=1.0, short_factor=[1.0, 1.1, 1.2, 1.4], long_factor=[1.0, 2.0, 3.0, 4.0],
            original_max_position_embeddings=512))),
        ("llama_dynamic", "Llama", dict(rope_parameters=dict(rope_type="dynamic", rope_theta=10000.0, factor=2.0)))):
    _part = "TextModel" if _cls.endswith("Text") and _cls != "HrmText" else "Model"
    _add(_name, f"{_cls}Config", f"{_cls.removesuffix('Text') if _part == 'TextModel' else _cls}{_part}", DECODER | _options, _masked, TEXT)
for _name, _cls, _options in (
        ("olmoe", "Olmoe", dict(num_experts=4, num_experts_per_tok=2)), ("qwen2_moe", "Qwen2Moe", dict(num_experts=4, num_experts_per_tok=2,
            moe_intermediate_size=16, shared_expert_intermediate_size=16)),
        ("qwen3_moe", "Qwen3Moe", dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16)),
        ("phimoe", "Phimoe", dict(num_local_experts=4, num_experts_per_tok=2)), ("granitemoe", "GraniteMoe", dict(num_local_experts=4)),
        ("granitemoehybrid", "GraniteMoeHybrid", dict(num_local_experts=4, shared_intermediate_size=32, mamba_n_heads=8, mamba_d_state=8, mamba_d_head=8,
            mamba_chunk_size=16, layer_types=["mamba", "attention"])),
        ("deepseek_v2", "DeepseekV2", dict(num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2,
            kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8, first_k_dense_replace=1)),
        ("deepseek_v32", "DeepseekV32", dict(num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2,
            kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8, n_group=2, topk_group=1, index_topk=16, index_head_dim=8,
            index_n_heads=2, first_k_dense_replace=1, head_dim=4)),
        ("ernie4_5_moe", "Ernie4_5_Moe", dict(moe_intermediate_size=16, moe_k=2, moe_num_experts=4, moe_num_shared_experts=1)),
        ("hunyuan_v1_moe", "HunYuanMoEV1", dict(num_experts=4, moe_topk=2)), ("minimax", "MiniMax", dict(num_local_experts=4, block_size=16,
            layer_types=["linear_attention", "full_attention"])),
        ("minimax_m2", "MiniMaxM2", dict(num_local_experts=4, num_experts_per_tok=2)), ("jetmoe", "JetMoe", dict(num_local_experts=4, kv_channels=8,
            num_key_value_heads=2)),
        ("dots1", "Dots1", dict(moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, first_k_dense_replace=1,
            sliding_window=16, layer_types=["sliding_attention", "full_attention"])),
        ("glm4_moe", "Glm4Moe", dict(moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, first_k_dense_replace=1)),
        ("lfm2_moe", "Lfm2Moe", dict(moe_intermediate_size=16, num_experts=4, num_experts_per_tok=2, num_dense_layers=1,
            layer_types=["conv", "full_attention"])),
        ("llama4", "Llama4Text", dict(intermediate_size_mlp=48, num_local_experts=4, attention_chunk_size=16, num_hidden_layers=4, floor_scale=16,
            layer_types=["chunked_attention", "full_attention"] * 2, no_rope_layers=[1, 0, 1, 0])),
        ("afmoe", "Afmoe", dict(moe_intermediate_size=16, num_experts=4, num_experts_per_tok=2, num_dense_layers=1, sliding_window=16,
            layer_types=["sliding_attention", "full_attention"])),
        ("flex_olmo", "FlexOlmo", dict(num_experts=4, num_experts_per_tok=2)),
        ("cohere2_moe", "Cohere2Moe", dict(num_experts=4, sliding_window=16, layer_types=["sliding_attention", "full_attention"])),
        ("longcat_flash", "LongcatFlash", dict(num_layers=1, ffn_hidden_size=48, expert_ffn_hidden_size=16, moe_topk=2, n_routed_experts=4, zero_expert_num=2, head_dim=4, num_key_value_heads=4,
            kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8)),
        ("kimi_linear", "KimiLinear", dict(moe_intermediate_size=16, num_local_experts=4, num_experts_per_tok=2, kv_lora_rank=8, qk_rope_head_dim=4,
            qk_nope_head_dim=8, v_head_dim=8, linear_head_dim=8, linear_num_heads=4, num_key_value_heads=4,
            layer_types=["linear_attention", "full_attention"])),
        ("zaya", "Zaya", dict(num_experts=4, moe_intermediate_size=16, router_hidden_size=16)),
        ("mistral4", "Mistral4", dict(moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1, num_experts_per_tok=2, kv_lora_rank=8, q_lora_rank=8,
            qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8, num_key_value_heads=4, first_k_dense_replace=1))):
    _part = "TextModel" if _cls.endswith("Text") else "Model"
    _add(_name, f"{_cls}Config", f"{_cls.removesuffix('Text')}{_part}", DECODER | _options, _masked, CHUNKS if _name == "kimi_linear" else TEXT, NO_CACHE,
         _experts_at_once)
_add("openai_gpt", "OpenAIGPTConfig", "OpenAIGPTModel", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4), _ids, TEXT, NO_CALL)
_add("ctrl", "CTRLConfig", "CTRLModel", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, dff=48), _masked, TEXT)
_add("biogpt", "BioGptConfig", "BioGptModel", SMALL, _masked, TEXT)
_add("gpt_bigcode", "GPTBigCodeConfig", "GPTBigCodeModel", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4), _masked, TEXT)
_add("imagegpt", "ImageGPTConfig", "ImageGPTModel", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=512), _ids, TEXT)
_add("decision_transformer", "DecisionTransformerConfig", "DecisionTransformerModel", dict(state_dim=5, act_dim=3, hidden_size=32, n_head=4, n_layer=2,
     max_ep_len=100), lambda n: dict(states=_random(n, 1, n, 5), actions=_random(n + 1, 1, n, 3), rewards=_random(n + 2, 1, n, 1),
     returns_to_go=_random(n + 3, 1, n, 1), timesteps=np.arange(n)[None], attention_mask=np.ones((1, n), np.int64)), TEXT, NO_CALL)
_add("zamba", "ZambaConfig", "ZambaModel", MIXER | dict(num_hidden_layers=3, layers_block_type=["mamba", "hybrid", "hybrid"], mamba_dt_rank=2, n_mamba_heads=2,
     use_mamba_kernels=False, attention_hidden_size=64, attention_head_dim=16, num_key_value_heads=4), _ids, TEXT)
_add("zamba2", "Zamba2Config", "Zamba2Model", MIXER | dict(num_hidden_layers=2, layers_block_type=["mamba", "hybrid"], mamba_ngroups=1, n_mamba_heads=8,
     chunk_size=16, use_mamba_kernels=False, num_key_value_heads=4, adapter_rank=4, use_mem_rope=True), _ids, TEXT)
_add("falcon_h1", "FalconH1Config", "FalconH1Model", MIXER | dict(num_hidden_layers=2, mamba_d_ssm=64, mamba_n_heads=8, mamba_d_head=8, mamba_n_groups=1,
     mamba_chunk_size=16), _ids, TEXT)
_add("nemotron_h", "NemotronHConfig", "NemotronHModel", MIXER | dict(layers_block_type=["mamba", "attention", "mlp"], ssm_state_size=8, mamba_num_heads=8,
     mamba_head_dim=8, n_groups=2, chunk_size=16, head_dim=8, use_mamba_kernels=False), _ids, TEXT)
_add("olmo_hybrid", "OlmoHybridConfig", "OlmoHybridModel", DECODER | dict(layer_types=["linear_attention", "full_attention"], linear_num_key_heads=2,
     linear_num_value_heads=2, linear_key_head_dim=8, linear_value_head_dim=8), _ids, CHUNKS)
# Speech.
_add("sew", "SEWConfig", "SEWModel", SPEECH | dict(squeeze_factor=2), _audio, AUDIO, NO_CALL)
_add("unispeech", "UniSpeechConfig", "UniSpeechModel", SPEECH | UNITS | dict(do_stable_layer_norm=True, feat_extract_norm="layer"), _audio, AUDIO, NO_CALL)
_add("wav2vec2_long", "Wav2Vec2Config", "Wav2Vec2ForCTC", SPEECH | dict(conv_dim=(16,) * 7, conv_stride=(5, 2, 2, 2, 2, 2, 2),
     conv_kernel=(10, 3, 3, 3, 3, 2, 2), num_feat_extract_layers=7, do_stable_layer_norm=True, feat_extract_norm="layer"), _audio,
     ([(9000,), (12217,), (15850,)], [(10100,), (18403,)]), NO_CALL)
_add("speech_encoder_decoder", "Wav2Vec2Config", "Wav2Vec2ForXVector", SPEECH | dict(tdnn_dim=(16, 16, 16, 16, 32), xvector_output_dim=16), _audio, AUDIO,
     NO_CALL)
_add("wav2vec2_frames", "Wav2Vec2Config", "Wav2Vec2ForAudioFrameClassification", SPEECH | dict(use_weighted_layer_sum=True), _audio, AUDIO, NO_CALL)
_add("pop2piano_decoder", "Pop2PianoConfig", "Pop2PianoForConditionalGeneration", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4),
     lambda n, m: dict(inputs_embeds=_random(n, 1, n, 32), decoder_input_ids=_numbers(m, 90, 1, m)), PAIR, NO_CACHE)
_MOON = dict(vocab_size=100, hidden_size=32, intermediate_size=48, encoder_num_hidden_layers=1, decoder_num_hidden_layers=2, encoder_num_attention_heads=4,
             decoder_num_attention_heads=4)
_add("moonshine_decoder", "MoonshineConfig", "MoonshineModel", _MOON, _after_encoder, PAIR, NO_CACHE, _decoder)
_inside("moonshine_streaming_encoder", "moonshine_streaming", "MoonshineStreamingEncoderConfig", "MoonshineStreamingEncoder", dict(hidden_size=32, intermediate_size=48,
     num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, sliding_windows=[[8, 4], [8, 0]], head_dim=8), _audio,
     ([(8000,), (12800,), (16000,)], [(9600,), (19200,)]), {})
_inside("dia_encoder", "dia", "DiaEncoderConfig", "DiaEncoder", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4,
     head_dim=8, intermediate_size=48), _masked, TEXT, {})
_inside("dia_decoder", "dia", "DiaDecoderConfig", "DiaDecoder", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
     head_dim=8, intermediate_size=48, cross_num_attention_heads=4, cross_head_dim=8, cross_num_key_value_heads=4, cross_hidden_size=32, num_channels=3),
     lambda n, m: dict(input_ids=_numbers(m, 90, 1, m, 3), encoder_hidden_states=_random(n, 1, n, 32)), PAIR, NO_CACHE)
_add("csm_backbone", "CsmConfig", "CsmBackboneModel", DECODER | dict(num_codebooks=4, vocab_size=50), lambda n: dict(input_ids=_numbers(n, 50, 1, n, 4)),
     TEXT, NO_CACHE)
_add("kyutai_speech_to_text", "KyutaiSpeechToTextConfig", "KyutaiSpeechToTextModel", dict(vocab_size=100, codebook_vocab_size=20, hidden_size=32,
     num_hidden_layers=2, num_attention_heads=4, num_codebooks=3, ffn_dim=64, sliding_window=16, audio_pad_token_id=69, audio_bos_token_id=20, pad_token_id=3),
     lambda n: dict(input_ids=_numbers(n, 20, 1, n, 4)), TEXT, NO_CACHE)
_add("bark_semantic", "BarkSemanticConfig", "BarkSemanticModel", dict(block_size=512, input_vocab_size=100, output_vocab_size=100, num_layers=2, num_heads=4,
     hidden_size=32), _ids, TEXT)
_add("bark_fine", "BarkFineConfig", "BarkFineModel", dict(block_size=512, input_vocab_size=100, output_vocab_size=100, num_layers=2, num_heads=4,
     hidden_size=32, n_codes_total=4), lambda n: dict(input_ids=_numbers(n, 90, 1, n, 4)), TEXT, {"codebook_idx": 2})
_add("fastspeech2_encoder", "FastSpeech2ConformerConfig", "FastSpeech2ConformerModel", dict(hidden_size=32, vocab_size=100, num_mel_bins=20,
     encoder_layers=2, encoder_linear_units=48, decoder_layers=1, decoder_linear_units=48, speech_decoder_postnet_units=16, duration_predictor_channels=16,
     energy_predictor_channels=16, pitch_predictor_channels=16, decoder_kernel_size=7), lambda n: dict(input_tensor=_ids(n)["input_ids"]), TEXT, {"return_dict": False},
     lambda m: m.encoder)
_add("fastspeech2_decoder", "FastSpeech2ConformerConfig", "FastSpeech2ConformerModel", dict(hidden_size=32, vocab_size=100, num_mel_bins=20,
     encoder_layers=1, encoder_linear_units=48, decoder_layers=2, decoder_linear_units=48, speech_decoder_postnet_units=16, duration_predictor_channels=16,
     energy_predictor_channels=16, pitch_predictor_channels=16, decoder_kernel_size=7), _series("input_tensor", 32), TEXT, {"return_dict": False},
     lambda m: m.decoder)
VITS = dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, flow_size=16, spectrogram_bins=20,
            upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4], prior_encoder_num_flows=2, posterior_encoder_num_wavenet_layers=3)
_add("vits_decoder", "VitsConfig", "VitsModel", VITS, lambda n: dict(spectrogram=_random(n, 1, 16, n)), TEXT, {}, lambda m: m.decoder)
_add("vits_flow", "VitsConfig", "VitsModel", VITS, lambda n: dict(inputs=_random(n, 1, 16, n), padding_mask=np.ones((1, 1, n), np.float32)), TEXT,
     {"reverse": True}, lambda m: m.flow)
_add("encodec_decoder", "EncodecConfig", "EncodecModel", dict(num_filters=4, hidden_size=16, codebook_size=16, codebook_dim=16, upsampling_ratios=[4, 2],
     num_lstm_layers=1), _features(16, "hidden_states", True), TEXT, {}, lambda m: m.decoder)
_add("mimi_encoder", "MimiConfig", "MimiModel", dict(upsample_groups=16, num_filters=4, hidden_size=16, upsampling_ratios=[4, 2], num_hidden_layers=1,
     num_attention_heads=2, num_key_value_heads=2, head_dim=8, intermediate_size=24, sliding_window=30), lambda n: dict(input_values=_random(n, 1, 1, n)),
     AUDIO, {}, lambda m: m.encoder)
_add("phi4_audio", "Phi4MultimodalAudioConfig", "Phi4MultimodalAudioModel", dict(hidden_size=32, intermediate_size=48, num_blocks=2, num_attention_heads=4,
     ext_pw_out_channel=32, depthwise_separable_out_channel=32, input_size=24, nemo_conv_channels=16, bias_max_distance=40), _features(24, "hidden_states"),
     ([(160,), (245,), (378,)], [(200,), (430,)]), {"mask": None})
_add("gemma3n_audio", "Gemma3nAudioConfig", "Gemma3nAudioEncoder", dict(input_feat_size=32, hidden_size=32, conf_num_attention_heads=2,
     conf_num_hidden_layers=2, sscp_conv_channel_size=[8, 4], conf_attention_chunk_size=4, conf_attention_context_left=5),
     lambda n: dict(audio_mel=_random(n, 1, n, 32), audio_mel_mask=np.zeros((1, n), bool)), RAGGED_FRAMES, NO_CALL)
_add("gemma4_audio", "Gemma4AudioConfig", "Gemma4AudioModel", dict(hidden_size=32, num_attention_heads=2, num_hidden_layers=2,
     subsampling_conv_channels=[32, 4], attention_chunk_size=4, attention_context_left=5, output_proj_dims=24),
     lambda n: dict(input_features=_random(n, 1, n, 32), attention_mask=np.ones((1, n), bool)), RAGGED_FRAMES, {})
_add("lasr", "LasrEncoderConfig", "LasrEncoder", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, conv_kernel_size=8,
     subsampling_conv_channels=16, num_mel_bins=24), _features(24), FEATURES, {})
_add("glmasr", "GlmAsrEncoderConfig", "GlmAsrEncoder", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, num_mel_bins=24),
     _features(24, last=True), FEATURES, {})
_add("voxtral_realtime", "VoxtralRealtimeEncoderConfig", "VoxtralRealtimeEncoder", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
     intermediate_size=48, num_mel_bins=24, sliding_window=16, head_dim=8), _features(24, last=True), ([(62,), (94,), (142,)], [(78,), (164,)]), NO_CACHE)
_add("nemotron_asr_streaming", "NemotronAsrStreamingEncoderConfig", "NemotronAsrStreamingEncoder", dict(hidden_size=96, num_hidden_layers=2,
     num_attention_heads=4, intermediate_size=48, num_mel_bins=24, subsampling_conv_channels=8, sliding_window=9, default_num_lookahead_tokens=2,
     max_position_embeddings=200), _features(24), ([(160,), (245,), (378,)], [(200,), (430,)]), {})
_add("granite_speech5", "GraniteSpeech5EncoderConfig", "GraniteSpeech5Encoder", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
     intermediate_size=48, num_mel_bins=20, context_size=20), _features(80), FEATURES, {})
_add("fun_asr_nano", "FunAsrNanoEncoderConfig", "FunAsrNanoEncoder", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
     num_mel_bins=20, num_timestamp_prediction_layers=2), lambda n: _features(140)(n) | dict(
     input_features_mask=np.ones((1, n), np.int64)), FEATURES, {})
_add("vibevoice_acoustic", "VibeVoiceAcousticTokenizerEncoderConfig", "VibeVoiceAcousticTokenizerEncoderModel", dict(hidden_size=16, num_filters=4,
     downsampling_ratios=[2, 4], depths=[1, 1, 1]), lambda n: dict(hidden_states=_random(n, 1, 1, n)), AUDIO, {})
_add("speecht5_decoder", "SpeechT5Config", "SpeechT5Model", dict(vocab_size=100, hidden_size=32, encoder_layers=1, encoder_attention_heads=4,
     encoder_ffn_dim=48, decoder_layers=2, decoder_attention_heads=4, decoder_ffn_dim=48), lambda n, m: dict(hidden_states=_random(m, 1, m, 32),
     encoder_hidden_states=_random(n, 1, n, 32)), PAIR, NO_CACHE, lambda m: m.decoder.wrapped_decoder)
_add("seamless_text_encoder", "SeamlessM4TConfig", "SeamlessM4TModel", SEAMLESS, _masked, TEXT, NO_CALL, lambda m: m.text_encoder)
_add("seamless_text_decoder", "SeamlessM4TConfig", "SeamlessM4TModel", SEAMLESS, _after_encoder, PAIR, NO_CACHE, lambda m: m.text_decoder)
_add("speech_to_text_decoder", "Speech2TextConfig", "Speech2TextModel", {key: value for key, value in BART.items() if key != "max_position_embeddings"} | dict(
     max_target_positions=512, input_feat_per_channel=20, conv_channels=16), _after_encoder, PAIR, NO_CACHE, _decoder)
_add("musicgen_melody", "MusicgenMelodyDecoderConfig", "MusicgenMelodyForCausalLM", dict(vocab_size=50, hidden_size=32, num_hidden_layers=2,
     num_attention_heads=4, ffn_dim=48, num_codebooks=2, max_position_embeddings=256, pad_token_id=0), lambda n, m: dict(input_ids=_numbers(n, 40, 2, n),
     encoder_hidden_states=_random(m, 1, m, 32)), PAIR, NO_CACHE)
# Time series.
_SERIES = dict(prediction_length=60, context_length=80, d_model=32, encoder_ffn_dim=48, decoder_ffn_dim=48, encoder_attention_heads=4,
               decoder_attention_heads=4, encoder_layers=2, decoder_layers=2)
for _name, _cls in (("time_series", "TimeSeriesTransformer"), ("autoformer", "Autoformer"), ("informer", "Informer")):
    _options = _SERIES | (dict(lags_sequence=[1, 2, 3]) if _cls == "Informer" else {}) | (dict(attention_type="full") if _cls == "Informer" else {})
    _add(f"{_name}_encoder", f"{_cls}Config", f"{_cls}Model", _options, lambda n, own=_cls: dict(inputs_embeds=_random(n, 1, n, 5 if own == "Informer" else 9)),
         TEXT, {"return_dict": False}, lambda m: m.encoder)
_add("time_series_decoder", "TimeSeriesTransformerConfig", "TimeSeriesTransformerModel", _SERIES, lambda n, m: dict(inputs_embeds=_random(m, 1, m, 9),
     encoder_hidden_states=_random(n, 1, n, 32)), PAIR, NO_CACHE, lambda m: m.decoder)
_add("informer_decoder", "InformerConfig", "InformerModel", _SERIES | dict(lags_sequence=[1, 2, 3], attention_type="full"), lambda n, m: dict(
     inputs_embeds=_random(m, 1, m, 5), encoder_hidden_states=_random(n, 1, n, 32)), PAIR, NO_CACHE, lambda m: m.decoder)
_add("timesfm", "TimesFmConfig", "TimesFmModel", dict(patch_length=8, context_length=512, horizon_length=16, head_dim=8, hidden_size=32, intermediate_size=48,
     num_hidden_layers=2, num_attention_heads=4, use_positional_embedding=True), lambda n: dict(past_values=_random(n, 1, n),
     past_values_padding=np.zeros((1, n), np.int64), freq=np.zeros((1, 1), np.int64)), ([(64,), (104,), (160,)], [(88,), (200,)]), NO_CALL)
_add("timesfm2_5", "TimesFm2_5Config", "TimesFm2_5Model", dict(patch_length=8, context_length=512, horizon_length=16, head_dim=8, hidden_size=32,
     intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, output_quantile_len=32), lambda n: dict(
     past_values=_random(n, 1, n), past_values_padding=np.zeros((1, n), np.int64)), ([(64,), (104,), (160,)], [(88,), (200,)]), {})
# Text beside pictures.
for _name, _cls, _options in (("clip_text", "CLIPText", {}), ("siglip_text", "SiglipText", {}), ("altclip_text", "AltCLIPText", dict(project_dim=16)),
                              ("chinese_clip_text", "ChineseCLIPText", {}), ("flava_text", "FlavaText", {}), ("owlvit_text", "OwlViTText", {}),
                              ("groupvit_text", "GroupViTText", {}), ("siglip2_text", "Siglip2Text", {})):
    _add(_name, f"{_cls}Config", f"{_cls}Model", SMALL | _options, _masked, TEXT, NO_CALL)
_add("blip_text", "BlipTextConfig", "BlipTextModel", SMALL | dict(encoder_hidden_size=32), lambda n, m: _ids(n) | dict(
     encoder_hidden_states=_random(m, 1, m, 32)), PAIR, {"use_cache": False, "return_dict": False, "is_decoder": True})
_add("blip_2_qformer", "Blip2QFormerConfig", "Blip2QFormerModel", SMALL | dict(encoder_hidden_size=24), lambda n, m: dict(query_embeds=_random(n, 1, n, 32),
     encoder_hidden_states=_random(m, 1, m, 24)), PAIR, NO_CALL)
_add("flava_multimodal", "FlavaMultimodalConfig", "FlavaMultimodalModel", SMALL, _series("hidden_states", 32), TEXT, NO_CALL)
_inside("kosmos2_text", "kosmos2", "Kosmos2TextConfig", "Kosmos2TextModel", dict(vocab_size=100, embed_dim=32, layers=2, ffn_dim=48, attention_heads=4), _masked, TEXT,
     NO_CACHE)
_add("clvp_encoder", "ClvpEncoderConfig", "ClvpEncoder", {key: value for key, value in SMALL.items() if key != "max_position_embeddings"} | dict(
     projection_dim=32, hidden_size=128), _ids, TEXT, NO_CALL)
_add("clvp_decoder", "ClvpDecoderConfig", "ClvpModel", SMALL | dict(max_text_tokens=100), _ids, TEXT, {"use_cache": False, "return_dict": False})
_add("visual_bert", "VisualBertConfig", "VisualBertModel", SMALL | dict(visual_embedding_dim=24), lambda n, m: _ids(n) | dict(
     attention_mask=np.ones((1, n), np.int64), visual_embeds=_random(m, 1, m, 24), visual_attention_mask=np.ones((1, m), np.int64),
     visual_token_type_ids=np.ones((1, m), np.int64)), PAIR, NO_CALL)
_add("lxmert", "LxmertConfig", "LxmertModel", SMALL | dict(l_layers=2, x_layers=1, r_layers=1, visual_feat_dim=24), lambda n, m: _ids(n) | dict(
     visual_feats=_random(m, 1, m, 24), visual_pos=_random(m + 1, 1, m, 4)), PAIR, NO_CALL)
_add("bridgetower", "BridgeTowerConfig", "BridgeTowerModel", dict(hidden_size=64, num_attention_heads=4, num_hidden_layers=2), lambda n: _ids(n) | dict(
     attention_mask=np.ones((1, n), np.int64), pixel_values=_random(n, 1, 3, 64, 64)), TEXT, NO_CALL, None,
     {"text_config": ("BridgeTowerTextConfig", SMALL | dict(hidden_size=64)), "vision_config": ("BridgeTowerVisionConfig", dict(hidden_size=64, num_hidden_layers=2, image_size=64,
                                                                                                         patch_size=16))})
_add("git", "GitConfig", "GitModel", SMALL, lambda n: _ids(n) | dict(attention_mask=np.ones((1, n), np.int64), pixel_values=_random(n, 1, 3, 64, 64)), TEXT,
     {"use_cache": False, "return_dict": False}, None, {"vision_config": ("GitVisionConfig", dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                                                                                       num_attention_heads=4, image_size=64, patch_size=16))})
