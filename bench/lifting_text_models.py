"""More architectures of text and speech that lifting is measured on, beside those of lifting_models.py, to whose MODELS they are added.

Encoders with attention of their own kind, encoders with decoders, decoders with positions of their own kind, decoders behind a past
(several tokens, or one), speech encoders, codecs and vocoders.
"""
import numpy as np

from lifting_models import (
    AUDIO,
    DECODER,
    FEATURES,
    NO_CALL,
    SMALL,
    SPEECH,
    TEXT,
    _add,
    _audio,
    _features,
    _ids,
    _masked,
)

NO_CACHE = {"use_cache": False}
PAIR = ([(19, 7), (34, 12), (53, 17)], [(27, 9), (61, 23)])  # tokens of the encoder and of the decoder
PAST = ([(19, 3), (34, 5), (53, 8)], [(27, 4), (61, 11)])  # tokens in the cache, and new ones
STEP = ([(19,), (34,), (53,)], [(27,), (61,)])  # tokens in the cache, before one
BLOCKS = ([(64,), (96,), (120,)], [(80,), (128,)])
SPOKEN = ([(61, 7), (94, 12), (142, 17)], [(77, 9), (163, 23)])  # frames, and tokens
WAVES = ([(9000,), (12217,), (15850,)], [(10100,), (18403,)])
BANDS = ([(150,), (190,), (250,)], [(170,), (230,)])


def _random(seed, *shape):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


def _pair(n, m):
    return _ids(n) | dict(decoder_input_ids=np.random.default_rng(1000 + m).integers(3, 90, (1, m)))


def _masked_pair(n, m):
    return _pair(n, m) | dict(attention_mask=np.ones((1, n), np.int64))


def _after_encoder(n, m):
    return dict(input_ids=np.random.default_rng(m).integers(3, 90, (1, m)), encoder_hidden_states=_random(n, 1, n, 32))


def _past(heads, size, layers=2):
    def make(past, new=1):
        tensors = {f"past_{kind}{layer}": _random(past * 100 + new + layer, 1, heads, past, size) for layer in range(layers) for kind in "kv"}
        return dict(input_ids=np.random.default_rng(past).integers(3, 90, (1, new))) | tensors
    return make


def _with_past(model, layers=2):
    """Reads the cache as inputs and returns it with what is new."""
    import torch
    from transformers import DynamicCache

    class WithPast(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, input_ids, **past):
            cache = DynamicCache()
            for layer in range(layers):
                cache.update(past[f"past_k{layer}"], past[f"past_v{layer}"], layer)
            out = self.model(input_ids=input_ids, past_key_values=cache, use_cache=True)
            return [out.last_hidden_state, *[t for layer in out.past_key_values.layers for t in (layer.keys, layer.values)]]
    return WithPast()


def _experts_at_once(model):
    """A product for all tokens: loops over the experts that are asked are not exported."""
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._experts_implementation = "batched_mm"
    return model


# Encoders.
_add("albert", "AlbertConfig", "AlbertModel", SMALL | dict(embedding_size=32), _masked, TEXT, NO_CALL)
_add("electra", "ElectraConfig", "ElectraModel", SMALL | dict(embedding_size=32), _masked, TEXT, NO_CALL)
_add("convbert", "ConvBertConfig", "ConvBertModel", SMALL | dict(embedding_size=32, conv_kernel_size=5, head_ratio=2), _masked, TEXT, NO_CALL)
_add("squeezebert", "SqueezeBertConfig", "SqueezeBertModel", SMALL | dict(embedding_size=32, q_groups=2, k_groups=2, v_groups=2, intermediate_groups=2,
     output_groups=2), _masked, TEXT, NO_CALL)
_add("xlm", "XLMConfig", "XLMModel", dict(n_words=100, emb_dim=32, n_layers=2, n_heads=4, pad_index=0, bos_index=1, eos_index=2, unk_index=3, mask_index=4),
     _ids, TEXT, NO_CALL)
_add("canine", "CanineConfig", "CanineModel", SMALL | dict(local_transformer_stride=16, num_hash_functions=4, num_hash_buckets=256, type_vocab_size=16),
     _masked, ([(32,), (64,), (96,)], [(48,), (144,)]), NO_CALL)
_add("perceiver", "PerceiverConfig", "PerceiverModel", dict(num_latents=8, d_latents=32, d_model=24, num_blocks=1, num_self_attends_per_block=2,
     num_self_attention_heads=4, num_cross_attention_heads=4, qk_channels=32, v_channels=32), lambda n: dict(inputs=_random(n, 1, n, 24)), TEXT, NO_CALL)
_add("big_bird", "BigBirdConfig", "BigBirdModel", SMALL | dict(block_size=4, num_random_blocks=1), _masked, BLOCKS, NO_CALL)
_add("led_encoder", "LEDConfig", "LEDModel", dict(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=1, encoder_attention_heads=4,
     decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, attention_window=8, max_encoder_position_embeddings=256), _ids, TEXT, NO_CALL,
     lambda m: m.encoder)
_add("nystromformer", "NystromformerConfig", "NystromformerModel", SMALL | dict(segment_means_seq_len=8, num_landmarks=8), _masked, TEXT, NO_CALL)
_add("yoso", "YosoConfig", "YosoModel", SMALL, _masked, TEXT, NO_CALL)
_add("deberta", "DebertaConfig", "DebertaModel", SMALL | dict(relative_attention=True, pos_att_type=["p2c", "c2p"], max_relative_positions=128), _masked,
     TEXT, NO_CALL)
_add("longt5", "LongT5Config", "LongT5EncoderModel", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, local_radius=7), _ids, TEXT,
     NO_CALL)
# Encoders with decoders.
BART = dict(vocab_size=100, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
            decoder_ffn_dim=48, max_position_embeddings=512, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=2)
for _name, _cls in (("bart", "Bart"), ("marian", "Marian"), ("pegasus", "Pegasus"), ("m2m_100", "M2M100")):
    _add(_name, f"{_cls}Config", f"{_cls}Model", BART, _masked_pair, PAIR, NO_CACHE)
_add("pegasus_x", "PegasusXConfig", "PegasusXModel", BART | dict(block_size=8, num_global_tokens=4), _masked_pair, PAIR, NO_CACHE)
_add("mt5", "MT5Config", "MT5Model", dict(vocab_size=100, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0), _masked_pair,
     PAIR, NO_CACHE)
_add("prophetnet", "ProphetNetConfig", "ProphetNetModel", dict(vocab_size=100, hidden_size=32, encoder_ffn_dim=48, num_encoder_layers=2,
     num_encoder_attention_heads=4, decoder_ffn_dim=48, num_decoder_layers=2, num_decoder_attention_heads=4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
     decoder_start_token_id=2), _pair, PAIR, NO_CACHE)
# Decoders.
_add("falcon_alibi", "FalconConfig", "FalconModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, alibi=True), _masked, TEXT)
_add("falcon", "FalconConfig", "FalconModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4), _masked, TEXT)
for _name, _cls in (("gptj", "GPTJ"), ("codegen", "CodeGen")):
    _add(_name, f"{_cls}Config", f"{_cls}Model", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=512), _masked, TEXT)
for _name, _cls, _options in (("gpt_neox", "GPTNeoX", {}), ("stablelm", "StableLm", {}), ("qwen2", "Qwen2", {}), ("qwen3", "Qwen3", {}),
                              ("phi3", "Phi3", dict(original_max_position_embeddings=512)), ("cohere2", "Cohere2", dict(sliding_window=16)),
                              ("olmo2", "Olmo2", {}), ("granite", "Granite", {}), ("starcoder2", "Starcoder2", dict(sliding_window=None)),
                              ("gemma2", "Gemma2", dict(sliding_window=16, query_pre_attn_scalar=8)), ("glm4", "Glm4", {}),
                              ("exaone4", "Exaone4", dict(sliding_window=16)), ("diffllama", "DiffLlama", {}), ("lfm2", "Lfm2", dict(block_ff_dim=48))):
    _add(_name, f"{_cls}Config", f"{_cls}Model", DECODER | _options, _masked, TEXT)
_add("xglm", "XGLMConfig", "XGLMModel", dict(vocab_size=100, d_model=32, ffn_dim=48, num_layers=2, attention_heads=4), _masked, TEXT)
_add("llama_scaled", "LlamaConfig", "LlamaModel", DECODER | dict(rope_parameters=dict(rope_type="llama3", rope_theta=10000.0, factor=8.0, low_freq_factor=1.0,
     high_freq_factor=4.0, original_max_position_embeddings=64)), _masked, TEXT)
_add("llama_yarn", "LlamaConfig", "LlamaModel", DECODER | dict(rope_parameters=dict(rope_type="yarn", rope_theta=10000.0, factor=4.0,
     original_max_position_embeddings=128)), _masked, TEXT)
_add("mixtral", "MixtralConfig", "MixtralModel", DECODER | dict(num_local_experts=4, num_experts_per_tok=2), _masked, TEXT, NO_CACHE, _experts_at_once)
_add("gpt_oss", "GptOssConfig", "GptOssModel", DECODER | dict(num_local_experts=4, num_experts_per_tok=2, sliding_window=16), _masked, TEXT, NO_CACHE,
     _experts_at_once)
_add("deepseek_v3", "DeepseekV3Config", "DeepseekV3Model", SMALL | dict(num_key_value_heads=4, moe_intermediate_size=16, n_routed_experts=4, n_shared_experts=1,
     num_experts_per_tok=2, n_group=2, topk_group=1, kv_lora_rank=8, q_lora_rank=8, qk_rope_head_dim=4, qk_nope_head_dim=8, v_head_dim=8,
     first_k_dense_replace=1), _masked, TEXT, NO_CACHE, _experts_at_once)
# Decoders behind a past.
for _name, _config, _model, _options, _heads in (
        ("llama", "LlamaConfig", "LlamaModel", DECODER, 2),
        ("gemma3", "Gemma3TextConfig", "Gemma3TextModel", DECODER | dict(sliding_window=16, query_pre_attn_scalar=8), 2),
        ("gpt2", "GPT2Config", "GPT2Model", dict(vocab_size=100, n_embd=32, n_layer=2, n_head=4, n_positions=512), 4),
        ("bloom", "BloomConfig", "BloomModel", dict(vocab_size=100, hidden_size=32, n_layer=2, n_head=4), 4)):
    _add(f"{_name}_past", _config, _model, _options, _past(_heads, 8), PAST, {}, _with_past)
    _add(f"{_name}_step", _config, _model, _options, _past(_heads, 8), STEP, {}, _with_past)
# Speech encoders.
UNITS = dict(num_codevectors_per_group=4, codevector_dim=8, proj_codevector_dim=8)
_add("hubert", "HubertConfig", "HubertModel", SPEECH, _audio, AUDIO, NO_CALL)
_add("unispeech_sat", "UniSpeechSatConfig", "UniSpeechSatModel", SPEECH | UNITS, _audio, AUDIO, NO_CALL)
_add("data2vec_audio", "Data2VecAudioConfig", "Data2VecAudioModel", SPEECH | dict(conv_pos_kernel_size=5, num_conv_pos_embeddings=2), _audio, AUDIO, NO_CALL)
_add("wav2vec2_rotary", "Wav2Vec2ConformerConfig", "Wav2Vec2ConformerModel", SPEECH | dict(position_embeddings_type="rotary"), _audio, AUDIO, NO_CALL)
_add("wav2vec2_adapter", "Wav2Vec2Config", "Wav2Vec2Model", SPEECH | dict(add_adapter=True, num_adapter_layers=2, output_hidden_size=32), _audio, AUDIO, NO_CALL)
_add("parakeet", "ParakeetEncoderConfig", "ParakeetEncoder", dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
     num_mel_bins=24, subsampling_factor=8, subsampling_conv_channels=8, max_position_embeddings=200), _features(24), FEATURES, {})
_add("granite_speech", "GraniteSpeechEncoderConfig", "GraniteSpeechCTCEncoder", dict(input_dim=20, num_layers=2, hidden_dim=32, feedforward_mult=2, num_heads=4,
     dim_head=8, output_dim=30, context_size=20, max_pos_emb=32, conv_kernel_size=5), _features(20, "hidden_states"), FEATURES, {})
_add("moonshine_encoder", "MoonshineConfig", "MoonshineModel", dict(vocab_size=100, hidden_size=32, intermediate_size=48, encoder_num_hidden_layers=2,
     decoder_num_hidden_layers=1, encoder_num_attention_heads=4, decoder_num_attention_heads=4), _audio, WAVES, {}, lambda m: m.encoder)
SEAMLESS = dict(vocab_size=100, hidden_size=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
                decoder_ffn_dim=48, speech_encoder_layers=2, speech_encoder_attention_heads=4, speech_encoder_intermediate_size=48, t2u_encoder_layers=1,
                t2u_decoder_layers=1, feature_projection_input_dim=20)
_add("seamless_speech", "SeamlessM4TConfig", "SeamlessM4TModel", SEAMLESS | dict(max_source_positions=200), _features(20), FEATURES, NO_CALL,
     lambda m: m.speech_encoder)
_add("seamless_v2_speech", "SeamlessM4Tv2Config", "SeamlessM4Tv2Model", SEAMLESS | dict(left_max_position_embeddings=8, right_max_position_embeddings=4,
     speech_encoder_chunk_size=20), _features(20), FEATURES, NO_CALL, lambda m: m.speech_encoder)
_add("clap_audio", "ClapAudioConfig", "ClapAudioModel", dict(spec_size=64, num_mel_bins=16, patch_size=4, patch_stride=[4, 4], patch_embeds_hidden_size=16,
     depths=[1, 1], num_attention_heads=[2, 4], window_size=4, hidden_size=32, enable_fusion=False),
     lambda n: dict(input_features=_random(n, 1, 1, n, 16)), BANDS, NO_CALL)
# Speech with text.
HEARD = {key: value for key, value in BART.items() if key != "max_position_embeddings"} | dict(max_target_positions=512)
_add("whisper_decoder", "WhisperConfig", "WhisperModel", HEARD | dict(num_mel_bins=20, max_source_positions=100), _after_encoder, PAIR, NO_CACHE,
     lambda m: m.decoder)
_add("speech_to_text", "Speech2TextConfig", "Speech2TextModel", HEARD | dict(input_feat_per_channel=20, conv_channels=16, max_source_positions=300),
     lambda n, m: _features(20)(n) | dict(decoder_input_ids=np.random.default_rng(m).integers(3, 90, (1, m))), SPOKEN, NO_CACHE)
_add("speecht5_encoder", "SpeechT5Config", "SpeechT5Model", SPEECH | dict(encoder_layers=2, encoder_attention_heads=4, encoder_ffn_dim=48, decoder_layers=1,
     decoder_attention_heads=4, decoder_ffn_dim=48, encoder_max_relative_position=12), lambda n: dict(hidden_states=_random(n, 1, n, 32)), TEXT, NO_CALL,
     lambda m: m.encoder.wrapped_encoder)
_add("vits_encoder", "VitsConfig", "VitsModel", dict(vocab_size=100, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, ffn_dim=48, flow_size=16,
     spectrogram_bins=20, upsample_initial_channel=16, upsample_rates=[4, 2], upsample_kernel_sizes=[8, 4]),
     lambda n: _ids(n) | dict(padding_mask=np.ones((1, n, 1), np.float32)), TEXT, NO_CALL, lambda m: m.text_encoder)
_add("musicgen_decoder", "MusicgenDecoderConfig", "MusicgenForCausalLM", dict(vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
     ffn_dim=48, num_codebooks=2, max_position_embeddings=256, pad_token_id=0), lambda n, m: dict(input_ids=np.random.default_rng(n).integers(3, 40, (2, n)),
     encoder_hidden_states=_random(m, 1, m, 32)), PAIR, NO_CACHE)
# Codecs and vocoders.
MIMI = dict(upsample_groups=16, num_filters=4, hidden_size=16, upsampling_ratios=[4, 2], num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
            head_dim=8, intermediate_size=24, sliding_window=30)
_add("mimi_transformer", "MimiConfig", "MimiModel", MIMI, lambda n: dict(hidden_states=_random(n, 1, n, 16)), TEXT, {"use_cache": False, "return_dict": False},
     lambda m: m.encoder_transformer)
_add("mimi_decoder", "MimiConfig", "MimiModel", MIMI, _features(16, "latents", True), TEXT, {}, lambda m: m.decoder)
DAC = dict(encoder_hidden_size=4, downsampling_ratios=[2, 4], decoder_hidden_size=16, n_codebooks=2, codebook_size=16, codebook_dim=4)
_add("dac_encoder", "DacConfig", "DacModel", DAC, lambda n: dict(hidden_state=_random(n, 1, 1, n)), AUDIO, {}, lambda m: m.encoder)
_add("dac_decoder", "DacConfig", "DacModel", DAC | dict(hidden_size=16), _features(16, "hidden_state", True), TEXT, {}, lambda m: m.decoder)
_add("univnet", "UnivNetConfig", "UnivNetModel", dict(model_in_channels=8, model_hidden_channels=8, num_mel_bins=12, resblock_kernel_sizes=[3],
     resblock_stride_sizes=[4], resblock_dilation_sizes=[[1, 3]], kernel_predictor_num_blocks=1, kernel_predictor_hidden_channels=8),
     lambda n: _features(12)(n) | dict(noise_sequence=_random(n, 1, n, 8)), TEXT, NO_CALL)
_add("hifigan", "SpeechT5HifiGanConfig", "SpeechT5HifiGan", dict(model_in_dim=16, upsample_initial_channel=16, upsample_rates=[4, 2],
     upsample_kernel_sizes=[8, 4], resblock_kernel_sizes=[3, 5], resblock_dilation_sizes=[[1, 3], [1, 3]]), lambda n: dict(spectrogram=_random(n, n, 16)), TEXT,
     {})
