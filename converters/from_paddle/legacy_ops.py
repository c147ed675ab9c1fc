"""Legacy ops by the PIR op that they became: one rule for each, read by `legacy`.

An operand is written as the slots that may hold it, best first: ``Shape|ShapeTensor*|@shape`` is the tensor in slot
Shape, else the list in slot ShapeTensor, else the attribute shape as a constant. An attribute is written ``new=old``,
or ``=old`` where it says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

#: Attributes that say nothing about what is computed.
NOISE = frozenset(
    {
        "op_role", "op_role_var", "op_namescope", "op_callstack", "op_device", "with_quant_attr", "use_mkldnn",
        "use_cudnn", "mkldnn_data_type", "use_quantizer", "force_cpu", "in_dtype", "place_type", "use_onednn",
        "exhaustive_search", "workspace_size_MB", "is_sparse", "is_distributed", "remote_prefetch", "head_number",
        "allow_out_of_range", "Scale_x", "Scale_y", "Scale_out", "force_fp32_output",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Rule:
    """How a legacy op is read.

    Attributes:
        name: PIR op.
        operands: Slots and attributes that its operands come from.
        outputs: Slots of its results; ``*`` marks a list, ``?`` one that is often declared with a wrong type.
        attributes: PIR attribute -> legacy attribute.
        fixed: Attributes that are always the same.
    """

    name: str
    operands: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: dict[str, str]
    fixed: dict[str, object]


RULES: dict[str, Rule] = {}


def _rule(
    names: str, operands: str = "X", outputs: str = "Out", attributes: str = "", to: str | None = None, **fixed: object
) -> None:
    pairs = {}
    for part in attributes.split():
        new, _, old = part.partition("=")
        pairs[new] = old or new
    for name in names.split():
        RULES[name] = Rule(to or name, tuple(operands.split()), tuple(outputs.split()), pairs, fixed)


_rule(
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf exp expm1 floor log log10 log1p log2 logsigmoid reciprocal "
    "relu rsqrt sigmoid sign silu sin sinh softsign sqrt square tan tanh tanh_shrink bitwise_not assign share_data "
    "erfinv digamma lgamma logical_not round trunc"
)
for _old, _new in {
    "isnan_v2": "isnan", "isinf_v2": "isinf", "isfinite_v2": "isfinite", "shape": "shape", "size": "numel",
}.items():  # fmt: skip
    _rule(_old, "X" if _old.endswith("v2") else "Input", to=_new)
_rule("bitwise_and bitwise_or bitwise_xor logical_and logical_or logical_xor bmm dot kron", "X Y")
_rule("atan2", "X1 X2")
_rule("cross", "X Y", attributes="axis=dim")
_rule("mv", "X Vec")
_rule("index_sample", "X Index")
for _old, _new in {
    "elementwise_add": "add", "elementwise_sub": "subtract", "elementwise_mul": "multiply", "elementwise_div": "divide",
    "elementwise_max": "maximum", "elementwise_min": "minimum", "elementwise_pow": "elementwise_pow",
    "elementwise_mod": "remainder", "elementwise_floordiv": "floor_divide", "elementwise_fmax": "fmax",
    "elementwise_fmin": "fmin", "equal": "equal", "not_equal": "not_equal", "less_than": "less_than",
    "less_equal": "less_equal", "greater_than": "greater_than", "greater_equal": "greater_equal",
}.items():  # fmt: skip
    _rule(_old, "X Y", to=_new)
_rule("where", "Condition X Y")
_rule("where_index", "Condition", to="nonzero")
_rule("gelu", attributes="approximate")
_rule("leaky_relu", attributes="negative_slope=alpha")
_rule("elu celu", attributes="alpha")
_rule("selu", attributes="scale alpha")
_rule("relu6")
_rule("swish", attributes="beta")
_rule("mish", attributes="lambda=threshold")
_rule("hard_swish", attributes="threshold scale offset", to="hardswish")
_rule("hard_sigmoid", attributes="slope offset", to="hardsigmoid")
_rule("brelu", attributes="t_min t_max", to="hardtanh")
_rule("hard_shrink", attributes="threshold", to="hardshrink")
_rule("softshrink", attributes="threshold=lambda")
_rule("softplus", attributes="beta threshold")
_rule("thresholded_relu", attributes="threshold")
_rule("prelu", "X Alpha", attributes="data_format mode")
_rule("stanh", attributes="scale_a scale_b")
_rule("logit", attributes="eps")
_rule("maxout", attributes="groups axis")
_rule("softmax log_softmax", attributes="axis")
_rule("dropout", "X Seed @dropout_prob", "Out Mask", "is_test mode=dropout_implementation")
_rule("scale", "X ScaleTensor|@scale", attributes="bias bias_after_scale")
_rule("pow", "X FactorTensor|@factor")
_rule("clip", "X Min|@min Max|@max")
_rule("sum", "X*", to="add_n")
_rule("increment", attributes="value=step")
_rule("cast", attributes="dtype=out_dtype")
_rule("conv2d depthwise_conv2d conv3d", "Input Filter", "Output",
      "strides paddings padding_algorithm dilations groups data_format")  # fmt: skip
_rule("conv2d_transpose depthwise_conv2d_transpose", "Input Filter Bias @output_size", "Output",
      "strides paddings output_padding padding_algorithm groups dilations data_format")  # fmt: skip
_rule("deformable_conv", "Input Offset Filter Mask", "Output",
      "strides paddings dilations deformable_groups groups im2col_step")  # fmt: skip
_rule("pool2d pool3d", "X @ksize", "Out",
      "strides paddings ceil_mode exclusive data_format pooling_type global_pooling adaptive "
      "padding_algorithm")  # fmt: skip
_rule("max_pool2d_with_index max_pool3d_with_index", "X", "Out Mask",
      "kernel_size=ksize strides paddings global_pooling adaptive")  # fmt: skip
_rule("batch_norm", "X Mean Variance Scale Bias", "Y MeanOut VarianceOut SavedMean SavedVariance ReserveSpace",
      "is_test momentum epsilon data_format=data_layout use_global_stats trainable_statistics")  # fmt: skip
_rule("layer_norm", "X Scale Bias", "Y Mean Variance", "epsilon begin_norm_axis")
_rule("instance_norm", "X Scale Bias", "Y SavedMean SavedVariance", "epsilon")
_rule("group_norm", "X Scale Bias", "Y Mean Variance", "epsilon groups data_format=data_layout")
_rule("norm", "X", "Out Norm", "axis epsilon is_test")
_rule("p_norm", "X", "Out", "porder axis epsilon keepdim asvector")
_rule("frobenius_norm", "X @dim", "Out", "keep_dim reduce_all dtype=out_dtype")
_rule("affine_channel", "X Scale Bias", attributes="data_layout")
_rule("matmul_v2", "X Y", attributes="transpose_x=trans_x transpose_y=trans_y", to="matmul")
_rule("matmul", "X Y", attributes="transpose_x=transpose_X transpose_y=transpose_Y alpha", to="legacy_matmul")
_rule("mul", "X Y", attributes="x_num_col_dims y_num_col_dims", to="matmul_with_flatten")
_rule("addmm", "Input X Y", attributes="beta=Beta alpha=Alpha")
_rule("einsum", "Operands*", "Out InnerCache XShape", "equation")
_rule("lookup_table_v2", "Ids W", attributes="padding_idx", to="embedding")
_rule("rnn", "Input PreState* WeightList* SequenceLength -", "Out DropoutState State* Reserve",
      "dropout_prob is_bidirec input_size hidden_size num_layers mode seed is_test")  # fmt: skip
# shapes
_rule("reshape2 reshape", "X ShapeTensor*|Shape|@shape", "Out", to="reshape")
_rule("transpose2 transpose", "X", "Out", "perm=axis =data_format", to="transpose")
_rule("flatten_contiguous_range", "X", "Out", "start_axis stop_axis", to="flatten")
_rule("squeeze2", "X @axes", "Out", to="squeeze")
_rule("unsqueeze2", "X AxesTensorList*|AxesTensor|@axes", "Out", to="unsqueeze")
_rule("concat", "X* AxisTensor|@axis")
_rule("stack", "X*", "Y", "axis")
_rule("unbind", "X", "Out*", "axis")
_rule("unstack", "X", "Y*", "axis num")
_rule("slice", "Input StartsTensor|StartsTensorList*|@starts EndsTensor|EndsTensorList*|@ends", "Out",
      "axes infer_flags decrease_axis")  # fmt: skip
_rule("strided_slice",
      "Input StartsTensor|StartsTensorList*|@starts EndsTensor|EndsTensorList*|@ends "
      "StridesTensor|StridesTensorList*|@strides", "Out", "axes infer_flags decrease_axis")  # fmt: skip
_rule("expand_v2", "X Shape|expand_shapes_tensor*|@shape", to="expand")
_rule("expand_as_v2", "X Y", attributes="target_shape", to="expand_as")
_rule("tile", "X RepeatTimes|repeat_times_tensor*|@repeat_times")
_rule("flip", attributes="axis")
_rule("reverse", "X @axis")
_rule("roll", "X ShiftsTensor|@shifts", attributes="axis")
_rule("meshgrid", "X*", "Out*")
_rule("pixel_shuffle", attributes="upscale_factor data_format")
_rule("shuffle_channel", attributes="group")
_rule("temporal_shift", attributes="seg_num shift_ratio data_format")
_rule("pad3d", "X Paddings|@paddings", attributes="mode pad_value=value data_format")
_rule("pad", "X @pad_value", attributes="paddings")
_rule("unfold", "X", "Y", "kernel_sizes strides paddings dilations")
_rule("partial_concat partial_sum", "X*", attributes="start_index length")
# indices
_rule("gather", "X Index Axis|@axis")
_rule("gather_nd", "X Index")
_rule("index_select", "X Index", attributes="axis=dim")
_rule("take_along_axis", "Input Index", "Result", "axis=Axis")
_rule("put_along_axis", "Input Index Value", "Result", "axis=Axis reduce=Reduce include_self=Include_self")
_rule("scatter", "X Ids Updates", attributes="overwrite")
_rule("scatter_nd_add", "X Index Updates")
_rule("masked_select", "X Mask", "Y")
_rule("one_hot_v2", "X depth_tensor|@depth", attributes="dtype", to="one_hot")
# sorting
_rule("arg_max", "X @axis", attributes="keepdims flatten dtype", to="argmax")
_rule("arg_min", "X @axis", attributes="keepdims flatten dtype", to="argmin")
_rule("argsort", "X", "Out Indices", "axis descending")
_rule("top_k_v2", "X K|@k", "Out Indices", "axis largest sorted", to="topk")
_rule("top_k", "X K|@k", "Out Indices", to="topk")
_rule("unique", "X", "Out Indices Index Counts",
      "return_index return_inverse return_counts axis dtype is_sorted")  # fmt: skip
# reductions
_rule("cumsum", "X @axis", attributes="flatten exclusive reverse")
_rule("logsumexp", "X", attributes="axis keepdim reduce_all")
_rule("mean", "X", to="mean_all")
# creation
_rule("fill_any_like", "X @value", attributes="dtype", to="full_like")
_rule("range", "Start End Step", to="arange")
_rule("linspace", "Start Stop Num", attributes="dtype")
_rule("eye", "@num_rows @num_columns", attributes="dtype")
_rule("fill_constant_batch_size_like", "Input", attributes="shape dtype value input_dim_idx output_dim_idx str_value",
      to="full_batch_size_like")  # fmt: skip
_rule("tril_triu", "X", attributes="diagonal", to="tril")
for _method in ("linear", "bilinear", "trilinear", "nearest", "bicubic"):
    _rule(f"{_method}_interp_v2 {_method}_interp", "X OutSize SizeTensor* Scale", "Out",
          "data_format=data_layout out_d out_h out_w scale interp_method align_corners align_mode",
          to=f"{_method}_interp")  # fmt: skip
_rule("grid_sampler", "X Grid", "Output", "mode padding_mode align_corners", to="grid_sample")
_rule("affine_grid", "Theta OutputShape|@output_shape", "Output", "align_corners")
_rule("roi_align", "X ROIs RoisNum", "Out",
      "pooled_height pooled_width spatial_scale sampling_ratio aligned")  # fmt: skip
_rule("yolo_box", "X ImgSize", "Boxes Scores",
      "anchors class_num conf_thresh downsample_ratio clip_bbox scale_x_y iou_aware iou_aware_factor")  # fmt: skip
_rule("multiclass_nms3", "BBoxes Scores RoisNum", "Out Index NmsRoisNum",
      "score_threshold nms_top_k keep_top_k nms_threshold normalized nms_eta background_label")  # fmt: skip
_rule("label_smooth", "X PriorDist", attributes="epsilon")
_rule("softmax_with_cross_entropy", "Logits Label", "Softmax Loss",
      "soft_label use_softmax numeric_stable_mode ignore_index axis", to="cross_entropy_with_softmax")  # fmt: skip
_rule("set_value",
      "Input StartsTensorList*|@starts EndsTensorList*|@ends StepsTensorList*|@steps", "Out",
      "axes decrease_axes none_axes shape")  # fmt: skip

# named as in PIR, or nearly; none is looked up without a rule, since the order of slots says nothing
_rule("lerp", "X Y Weight")
_rule("huber_loss", "X Y", "Out Residual", "delta")
_rule("bce_loss", "X Label")
_rule("sigmoid_cross_entropy_with_logits", "X Label pos_weight", attributes="normalize ignore_index")
_rule("kldiv_loss", "X Target", "Loss", "reduction")
_rule("log_loss", "Predicted Labels", "Loss", "epsilon")
_rule("nll_loss", "X Label Weight", "Out Total_weight", "ignore_index reduction")
_rule("cumprod", attributes="dim")
_rule("cummax cummin", "x", "out indices", "axis dtype")
_rule("logcumsumexp", attributes="axis flatten exclusive reverse")
_rule("dist", "X Y", attributes="p")
_rule("crop_tensor", "X ShapeTensor*|Shape|@shape OffsetsTensor*|Offsets|@offsets", to="crop")
_rule("channel_shuffle", attributes="groups data_format")
_rule("pixel_unshuffle", attributes="downscale_factor data_format")
_rule("diag_v2", attributes="offset padding_value", to="diag")
_rule("trace diagonal", "Input", attributes="offset axis1 axis2")
_rule("diag_embed", "Input", attributes="offset dim1 dim2")
_rule("fill_diagonal", attributes="value offset wrap")
_rule("index_add", "X Index AddValue", attributes="axis")
_rule("index_put", "x indices* value", "out", "accumulate")
_rule("multiplex", "X* Ids")
_rule("sequence_mask", "X MaxLenTensor|@maxlen", "Y", "out_dtype")
_rule("kthvalue", "X", "Out Indices?", "k axis keepdim")
_rule("mode", "X", "Out Indices?", "axis keepdim")
_rule("searchsorted", "SortedSequence Values", attributes="out_int32 right")
_rule("bincount", "X Weights @minlength")
_rule("histogram", attributes="bins min max")
_rule("shard_index", attributes="index_num nshards shard_id ignore_value")
_rule("bilinear_tensor_product", "X Y Weight Bias", to="bilinear")
_rule("determinant", "Input", "Out?", to="det")
_rule("inverse", "Input", "Output")
_rule("solve", "X Y")
_rule("matrix_power", attributes="n")
_rule("multi_dot", "X*")
_rule("fold", "X", "Y", "output_sizes kernel_sizes strides paddings dilations")
_rule("frame", attributes="frame_length hop_length axis")
_rule("unpool", "X Indices @output_size", attributes="ksize strides padding=paddings data_format =unpooling_type")
_rule("box_coder", "PriorBox PriorBoxVar TargetBox", "OutputBox", "code_type box_normalized axis variance")
_rule("prior_box", "Input Image", "Boxes Variances",
      "min_sizes max_sizes aspect_ratios variances flip clip step_w step_h offset "
      "min_max_aspect_ratios_order")  # fmt: skip
_rule("nms", "Boxes", "KeepBoxesIdxs", "threshold=iou_threshold")
_rule("rrelu", "X", "Out Noise", "is_test lower upper")
_rule("elementwise_heaviside", "X Y", to="heaviside")
_rule("lrn", "X", "Out MidOut", "n k alpha beta data_format")
_rule("clip_by_norm", attributes="max_norm")
_rule("isclose allclose", "Input Other Rtol|@rtol Atol|@atol", attributes="equal_nan")
_rule("equal_all", "X Y")
_rule("is_empty")
_rule("broadcast_tensors", "X*", "Out*")
_rule("tril_indices", "", "out", "rows cols offset dtype")
_rule("triu_indices", "", "out", "row col offset dtype")
_rule("fill_zeros_like", to="zeros_like")
_rule("conv3d_transpose", "Input Filter @output_size", "Output",
      "strides paddings output_padding padding_algorithm groups dilations data_format")  # fmt: skip
_rule("deformable_conv_v1", "Input Offset Filter -", "Output",
      "strides paddings dilations deformable_groups groups im2col_step", to="deformable_conv")  # fmt: skip
