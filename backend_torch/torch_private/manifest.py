"""Every private name and every patch of torch in this room: the list to go through when moving to another torch.

Layer: a table; tests/backend_torch/torch_private/test_manifest.py compares it with the code and with torch.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """Private names that tnp reads or patches for one reason.

    Attributes
    ----------
    file : str
        The module of this room that uses them.
    names : str
        The names, as ``module.name``; as ``owner:name`` where the module reads the name off an object.
    why : str
        What they do that no public name does.
    patched : str
        What is replaced, and for whom; empty if the names are only read.
    torch : str
        The releases that need them.
    link : str
        torch's issue or pull request.
    test : str
        The test that fails when torch has mended the issue, or when the names do something else.
    """

    file: str
    names: str
    why: str
    patched: str = ""
    torch: str = ">=2.11"
    link: str = ""
    test: str = ""


_ISSUE = "https://github.com/pytorch/pytorch/issues/"
_PULL = "https://github.com/pytorch/pytorch/pull/"
_MENDED = "tests/backend_torch/torch_private/test_mended.py::"
_PATCHES = "tests/backend_torch/torch_private/test_patches.py::"
_TRACES = "tests/backend_torch/graphs/test_compiling.py::"
_LIGHT = "tests/backend_torch/torch_private/test_light_imports.py::test_a_trace_leaves_torch_as_it_was"
_DYNAMO = "tests/tnp/array/test_torch_compile.py::"
_FUNCTORCH = "tests/backend_torch/autodiff/test_transform_levels.py::test_value_and_gradients"

ROWS = [
    # -----------------------------------------------------------------------------------------------------------------
    # Read
    Row(
        "autograd",
        "torch._C._set_grad_enabled torch.autograd.Variable._execution_engine.run_backward",
        "the public torch.set_grad_enabled and torch.autograd.grad take longer than the operations of a small program",
        test=_FUNCTORCH,
    ),
    Row(
        "autograd",
        "torch._C.DisableTorchFunction torch.autograd.forward_ad:_current_level torch.compiler._is_exporting_flag",
        "whether function modes, forward mode and torch.export are on; torch 2.11's is_exporting() is true in Dynamo",
        test=_FUNCTORCH,
    ),
    Row(
        "autograd",
        "torch.autograd._unsafe_preserve_version_counter",
        "a write that gives a tensor a history, and leaves the values, must not make autograd refuse what it keeps",
        test="tests/tnp/transforms/test_tape.py::test_tapes_inside_derivatives_watch_what_the_derivative_knows",
    ),
    Row(
        "dtensor",
        "torch._prims_common.make_contiguous_strides_for torch.distributed.tensor._dtensor_spec.DTensorSpec "
        "torch.distributed.tensor._op_schema.OpSchema torch.distributed.tensor._op_schema.OutputSharding "
        "torch.distributed.tensor._utils.compute_local_shape_and_global_offset "
        "torch.distributed.tensor.placement_types._StridedShard torch.distributed.tensor.DTensor:_local_tensor "
        "torch.distributed.tensor.DTensor:_spec",
        "tnp adds sharding rules for operations that DTensor lacks; a rule consists of these classes",
        test="tests/tnp/distributed/test_distributed.py::test_as_one_process",
    ),
    Row(
        "functorch",
        "torch._C._functorch torch._C._DisableFuncTorch torch._functorch.eager_transforms "
        "torch._C._functorch:_vmap_increment_nesting torch._C._functorch:_vmap_decrement_nesting "
        "torch._C._functorch:_add_batch_dim torch._C._functorch:_remove_batch_dim "
        "torch._C._functorch:_grad_increment_nesting torch._C._functorch:_grad_decrement_nesting "
        "torch._C._functorch:_wrap_for_grad torch._C._functorch:_unwrap_for_grad",
        "transforms of lists of tensors; torch.func's handling of pytrees takes half of a small function's time",
        test=_FUNCTORCH,
    ),
    Row(
        "functorch",
        "torch._C._autograd torch._C._autograd:_top_saved_tensors_default_hooks "
        "torch._C._autograd:_push_saved_tensors_default_hooks torch._C._autograd:_pop_saved_tensors_default_hooks "
        "torch._C._dispatch_tls_is_dispatch_key_excluded torch._C.DispatchKey.FuncTorchDynamicLayerFrontMode",
        "a transform inside a recording sets saved-tensor hooks aside, and must know whether torch.func is disabled",
        test="tests/tnp/transforms/test_outside.py",
    ),
    Row(
        "functorch",
        "torch._functorch.eager_transforms:_disable_inference_mode",
        "torch releases without this name give zeros as derivatives of torch.func in inference mode",
        torch=">=2.13",
        test="tests/backend_torch/autodiff/test_autodiff.py::test_inference_mode_gives_no_zeros",
    ),
    Row(
        "guards",
        "torch._C._dynamo.guards.TensorGuards",
        "a signature check in C++, which saves 1 us a call over one in Python",
        test=_TRACES + "test_signature_check",
    ),
    Row(
        "inductor",
        "torch._guards.TracingContext torch._guards.tracing torch._inductor.compile_fx._recursive_joint_graph_passes "
        "torch._inductor.compile_fx.compile_fx torch._inductor.compile_fx.compile_fx_inner torch._inductor.config "
        "torch._inductor.config.patch torch._inductor.config:_config torch._inductor.decomposition.select_decomp_table "
        "torch._inductor.virtualized.V torch._subclasses.fake_tensor.FakeTensorMode",
        "compiling a traced graph without Dynamo and without its wrappers, which take 12 us a call",
        test=_TRACES + "test_results_alias_as_they_do_eagerly",
    ),
    Row(
        "inductor",
        "torch._decomp.decomposition_table",
        "decomposing one operation without Inductor's table, which takes two seconds to import",
        test="tests/backend_torch/graphs/test_loop_programs.py::test_a_training_step_needs_no_inductor",
    ),
    Row(
        "inductor",
        "torch._inductor.aoti_compile_and_package torch._inductor.aoti_load_package torch._inductor.list_mode_options "
        "torch._inductor.runtime.runtime_utils.cache_dir torch._inductor.utils.clear_caches",
        "writing machine code to a file, the modes of torch.compile, and changing the cache directory",
        test="tests/tnp/compile/test_packaging.py",
    ),
    Row(
        "inductor_code",
        "torch._C._dynamo.guards torch._C._dynamo.guards:_torchinductor_pyobject_tensor_data_ptr "
        "torch._C._dynamo.guards:_empty_strided_cpu torch._C._dynamo.guards:_reinterpret_tensor "
        "*:_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR",
        "running code that Inductor generated in a process that does not import Inductor",
        test="tests/backend_torch/graphs/test_code_cache.py::test_a_later_process_imports_no_compiler",
    ),
    Row(
        "vector_library",
        "torch._C._dynamo.guards torch._C._dynamo.guards:_torchinductor_pyobject_tensor_data_ptr "
        "torch._C._dynamo.guards:_empty_strided_cpu",
        "small kernels find a tensor's memory and make new tensors as Inductor's kernels do",
        test="tests/backend_torch/graphs/test_elementwise_code.py",
    ),
    Row(
        "inductor_loops",
        "torch._inductor.codecache.CppPythonBindingsCodeCache torch._inductor.ir "
        "torch._inductor.lowering.empty_strided torch._inductor.lowering.register_lowering "
        "torch._inductor.virtualized.V",
        "compiling and calling a loop's C++ like Inductor's own kernels, by a lowering of tnp's own operator",
        test="tests/backend_torch/graphs/test_loop_lowering.py",
    ),
    Row(
        "modes",
        "torch.utils._python_dispatch torch.utils._python_dispatch.TorchDispatchMode "
        "torch.utils._python_dispatch:_get_current_dispatch_mode torch.utils._python_dispatch:_pop_mode "
        "torch.utils._python_dispatch:_push_mode torch.utils._mode_utils.no_dispatch "
        "torch.utils._python_dispatch:_get_current_dispatch_mode_stack "
        "torch._C._len_torch_dispatch_stack",
        "modes that see each operation, their number, and a scope without them",
        test="tests/backend_torch/torch_private/test_modes.py",
    ),
    Row(
        "modes",
        "torch._C._SetExcludeDispatchKeyGuard torch._C.DispatchKey.Conjugate torch._C.DispatchKey.Negative",
        "inside a mode torch does not resolve lazy conjugates in composite operations, so their results are wrong",
        test="tests/backend_torch/torch_private/test_modes.py",
    ),
    Row(
        "operators",
        "torch._ops.HigherOrderOperator torch._ops.OpOverload torch._ops.OpOverload:_schema "
        "torch._C._dispatch_has_kernel torch._C._dispatch_has_kernel_for_dispatch_key",
        "what an operator writes to and returns, and whether it has a kernel",
        test=_TRACES + "test_results_alias_as_they_do_eagerly",
    ),
    Row(
        "operators",
        "torch._C._AutoDispatchBelowAutograd",
        "an operator's rule for autograd calls the operator itself, below autograd, if there is nothing to record",
        test="tests/backend_torch/graphs/test_host_calls.py",
    ),
    Row(
        "operators",
        "torch._standard_gamma torch._sample_dirichlet torch._assert_async",
        "kernels without a public name",
        test="tests/backend_torch/random/test_generators.py",
    ),
    Row(
        "symbolic_shapes",
        "torch._dynamo.source.LocalSource torch.utils._sympy.interp.sympy_interp "
        "torch.utils._sympy.reference.PythonReferenceAnalysis",
        "symbols with names of tnp's choice, and evaluating expressions of symbols",
        test="tests/tnp/compile/test_compile.py",
    ),
    Row(
        "tensor_internals",
        "torch.UntypedStorage:_cdata torch.Tensor:_is_view torch.Tensor:_is_zerotensor torch.Tensor:_version "
        "torch._neg_view",
        "the identity of a tensor's memory without an address, the number of writes to it; whether a tensor is a view, "
        "or zeros without memory",
        test="tests/backend_torch/tensors/test_memory.py",
    ),
    Row(
        "traces",
        "torch._subclasses.fake_tensor.FakeTensor torch._subclasses.fake_tensor.FakeTensorMode "
        "torch._subclasses.fake_tensor.DataDependentOutputException "
        "torch._subclasses.fake_tensor.DynamicOutputShapeException torch._C.DisableTorchFunction "
        "torch.utils._python_dispatch._disable_current_modes torch.fx.graph_module:_loader",
        "fake tensors and their errors, and the sources of graphs, which torch.fx never frees",
        test=_TRACES + "test_results_alias_as_they_do_eagerly",
    ),
    Row(
        "trees",
        "torch.utils._pytree",
        "the public torch.utils.pytree has neither constants nor attribute paths",
        test=_DYNAMO + "test_arrays_in_and_out",
    ),
    # -----------------------------------------------------------------------------------------------------------------
    # Patched
    Row(
        "dtensor",
        "torch.distributed.tensor.DTensor:_op_dispatcher torch.distributed.tensor._dispatch "
        "torch.distributed.tensor._redistribute "
        "torch.distributed.tensor._dispatch.OpDispatcher:_propagate_op_sharding_dispatch_slow_path "
        "torch.distributed.tensor._dispatch.OpDispatcher:_custom_op_handlers",
        "views of sharded axes, in-place operations on partial sums, and dtypes that gloo can't send give wrong "
        "results or unhelpful errors",
        patched="the sharding rules, the redistribution and the handlers of operations; for tensors over tnp's "
        "meshes, from tnp.distributed.init on",
        link=_ISSUE + "179502",
        test="tests/tnp/distributed/test_distributed.py::test_as_one_process",
    ),
    Row(
        "dynamo",
        "torch._dynamo torch._dynamo.callback_handler torch._dynamo.trace_rules "
        "torch._dynamo.trace_rules:_maybe_init_lazy_module "
        "torch._dynamo.variables.builder.VariableBuilder "
        "torch._dynamo.variables.builder.VariableBuilder:_type_dispatch_impl "
        "torch._C._dynamo.eval_frame.set_code_exec_strategy torch._dynamo.types.FrameAction "
        "torch._dynamo.types.FrameExecStrategy torch._dynamo.graph_break torch._dynamo.substitute_in_graph "
        "torch._dynamo.exc.unimplemented torch._dynamo.guards.GuardBuilder",
        "telling Dynamo about tnp when it first meets tnp: which functions run in Python, where a graph breaks and "
        "why, and that tnp's scalars are not constants, although they are floats",
        patched="entries for tnp's own functions and classes in Dynamo's tables, from the import of Dynamo on",
        test=_PATCHES + "test_torch_compile_of_others_classes_is_the_same",
    ),
    Row(
        "dynamo",
        "torch._dynamo.trace_rules._allowed_callable_ids torch._dynamo.trace_rules._nonstrict_trace_callable_ids "
        "torch._dynamo.variables.torch.TorchInGraphFunctionVariable torch._dynamo.variables.torch.AllowInGraphKind "
        "torch._dynamo.variables.torch.TorchInGraphFunctionVariable:_call_nonstrict_traceable_function "
        "torch._dynamo.variables.base.VariableTracker torch._dynamo.variables.builder.SourcelessBuilder "
        "torch._dynamo.variables.builder.wrap_fx_proxy torch._dynamo.variables.functions.NestedUserFunctionVariable "
        "torch._dynamo.variables.lists.ListVariable torch._dynamo.variables.lists.SizeVariable "
        "torch._dynamo.variables.lists.SliceVariable torch._dynamo.variables.lists.TupleVariable "
        "torch._dynamo.variables.misc.GetAttrVariable",
        "making a function of arrays one operation of a graph; torch._dynamo.nonstrict_trace takes and returns only "
        "tensors, numbers and strings",
        patched="calls of functions and methods in a graph, and the variables of methods; for tnp's functions, from "
        "where a compile meets tnp to its end",
        link=_ISSUE + "157397",
        test=_MENDED + "test_nonstrict_trace_takes_no_slices",
    ),
    Row(
        "dynamo",
        "torch._subclasses.fake_tensor.fake_tensor_tls",
        "torch refuses the constants that an operation reads once it has traced the operation",
        patched="the thread's allow_non_fake_inputs_override; while a graph with a function of tnp's is compiled, and "
        "later while derivatives are compiled",
        test=_PATCHES + "test_torch_is_as_it_was_after_tnp_compiled",
    ),
    Row(
        "dynamo",
        "torch._dynamo.variables.builtin.BuiltinVariable torch._dynamo.variables.user_defined.UserDefinedVariable "
        "torch._dynamo.variables.user_defined.UserDefinedObjectVariable "
        "torch._dynamo.variables.lazy.LazyVariableTracker "
        "torch._dynamo.variables.lazy.LazyVariableTracker:_cache torch._dynamo.variables.tensor.NumpyNdarrayVariable "
        "torch._dynamo.variables.builtin.BuiltinVariable:_handle_insert_op_in_graph "
        "torch._dynamo.variables.builtin.BuiltinVariable:_find_binop_handler "
        "torch._dynamo.variables.tensor.SymNodeVariable torch._dynamo.variables.constant.ConstantVariable "
        "torch._dynamo.variables.lists.BaseListVariable",
        "Dynamo can't trace ~ and @ of user-defined classes, nor operators between an object and a NumPy array; it "
        "compares an object with a number that changes from call to call, or stands on the left, without its methods",
        patched="call_invert, call_matmul, call_imatmul, call_divmod, _handle_insert_op_in_graph and "
        "_find_binop_handler; for calls with a tnp array among the operands, from where a compile meets tnp to its end",
        link=_PULL + "189585",
        test=_MENDED + "test_dynamo_knows_no_matmul_of_classes",
    ),
    Row(
        "dynamo",
        "torch._dynamo.variables.misc.StringFormatVariable",
        "Dynamo formats an object at the end of a graph, when it may have been written to",
        patched="create; for tnp's arrays, from where a compile meets tnp to its end",
        link=_ISSUE + "177582",
        test=_DYNAMO + "test_full_graphs_hold_no_text_of_values",
    ),
    Row(
        "dynamo",
        "torch._dynamo.variables.misc.NumpyDTypeVariable torch._dynamo.symbolic_convert.InstructionTranslator",
        "Dynamo refuses dtypes as keys of dictionaries",
        patched="hash and equality of dtypes; in tnp's functions, from where a compile meets tnp to its end",
        torch="<2.12",
        test=_PATCHES + "test_torch_compile_of_others_classes_is_the_same",
    ),
    Row(
        "dynamo",
        "*:_torchdynamo_inline",
        "torch.compile traces into the function that a compiled function was made from",
        patched="an attribute of tnp's own function",
        test="tests/tnp/compile/test_every_full_graph.py",
    ),
    Row(
        "inductor_passes",
        "torch._inductor.fx_passes.post_grad torch._inductor.fx_passes.reinplace "
        "torch._inductor.fx_passes.reinplace:_generalized_scatter",
        "Inductor writes to a part of a tensor before it has read another part, and to expanded tensors in place; it "
        "takes a view that begins elsewhere in its memory for a copy",
        patched="the choice of copies to drop and of writes in place; while tnp compiles, in that thread",
        link=_ISSUE + "197829",
        test=_MENDED + "test_inductor_writes_before_it_reads",
    ),
    Row(
        "inductor_passes",
        "torch._inductor.dependencies.StarDep torch._inductor.dependencies.WeakDep "
        "torch._inductor.scheduler.SchedulerNode",
        "Inductor reads memory before it has written to it",
        patched="the method that computes a loop again to fuse it; while tnp compiles, in that thread",
        link=_ISSUE + "185509",
        test=_MENDED + "test_inductor_forgets_what_a_loop_waits_for",
    ),
    Row(
        "inductor_passes",
        "torch._inductor.codegen.wrapper.PythonWrapperCodegen",
        "Inductor gives the memory of a concatenation away while a result in one of its parts is still read",
        patched="the method that says what may be written to in place; while tnp compiles, in that thread",
        link=_ISSUE + "100314",
        test=_MENDED + "test_inductor_reuses_concatenations",
    ),
    Row(
        "inductor_passes",
        "torch._inductor.dependencies.MemoryDep torch._inductor.scheduler.Scheduler",
        "Inductor writes to a tensor in the loop that reads other parts of it, if it was written to before",
        patched="the method that says whether a loop may be fused with a write; while tnp compiles, in that thread",
        link=_ISSUE + "185509",
        test=_MENDED + "test_inductor_fuses_reads_of_other_parts",
    ),
    Row(
        "inductor_passes",
        "torch._inductor.lowering",
        "Inductor can't show a bool as a byte, nor a byte as a bool",
        patched="to_dtype_bitcast, of bools; while tnp compiles, in that thread",
        torch="<2.13",
        test="tests/tnp/compile/test_compiled_results.py::test_bools_are_shown_as_bytes",
    ),
    Row(
        "inductor_threads",
        "torch._inductor.codegen.cpp.CppKernel torch._inductor.codegen.cpp.CppVecKernel torch._inductor.config",
        "Inductor starts threads for a number of elements, whatever a loop computes of them",
        patched="the method that says which loops get threads; while tnp compiles, in that thread",
        test="tests/backend_torch/torch_private/test_inductor_threads.py",
    ),
    Row(
        "inductor_vector_code",
        "torch._inductor.codegen.cpp.CppKernel torch._inductor.config.emulate_precision_casts",
        "where a kernel casts to a low precision and back, Inductor reads the number from before, even if told to "
        "round as eager code does",
        patched="the note of a cast that may be taken back; while tnp compiles, in that thread",
        torch="<2.13",
        link=_ISSUE + "185337",
        test="tests/tnp/compile/test_compiled_results.py::test_low_precision_is_rounded_after_each_operation",
    ),
    Row(
        "inductor_vector_code",
        "torch._inductor.codegen.cpp.CppTile2DKernel",
        "argmax and argmin of arrays in different orders give the first row of a tile",
        patched="reduction_combine_vec; while tnp compiles, in that thread",
        torch="<2.13",
        test="tests/tnp/compile/test_compiled_results.py::test_places_of_extremes_of_arrays_in_different_orders",
    ),
    Row(
        "inductor_vector_code",
        "torch._inductor.codegen.cpp.CppTile2DKernel:_adjust_argreduce_index",
        "whether torch itself gives argmax and argmin the row of a tile",
        torch=">=2.13",
        test="tests/tnp/compile/test_compiled_results.py::test_places_of_extremes_of_arrays_in_different_orders",
    ),
    Row(
        "inductor_vector_code",
        "torch._inductor.codegen.cpp.CppVecOverrides",
        "exp and sigmoid in half the time of a call of Sleef; expm1, arctanh and arccosh with all their digits",
        patched="exp, sigmoid, expm1, atanh and acosh; while tnp compiles, in that thread",
        test="tests/backend_torch/torch_private/test_inductor_vector_code.py::test_scope_is_left",
    ),
    Row(
        "inductor_kernels",
        "torch._inductor.async_compile.AsyncCompile torch._inductor.codecache.CppPythonBindingsCodeCache "
        "torch._inductor.cpp_builder.get_cpp_compiler torch._inductor.cpu_vec_isa.VecISA",
        "one run of g++ for all kernels of a graph, not one for each, and none to see which vectors g++ knows",
        patched="what Inductor's code calls to get its kernels, and the check of vectors; while tnp compiles, in that "
        "thread",
        test="tests/backend_torch/torch_private/test_inductor_kernels.py",
    ),
    Row(
        "light_imports",
        "torch._dynamo torch._dynamo.config torch._dynamo.config:_custom_ops_profile torch._higher_order_ops "
        "torch._higher_order_ops.invoke_subgraph torch._higher_order_ops.triton_kernel_wrap torch._inductor "
        "torch._inductor.compiler_bisector torch._inductor.config torch._inductor.fx_passes.dedupe_symint_uses "
        "torch.fx.experimental.symbolic_shapes:_constrain_range_for_size "
        "torch.fx.experimental.symbolic_shapes:_iterate_exprs",
        "torch's tracer imports its compilers, which takes a second, for settings and checks that have one answer if "
        "no size is left open",
        patched="builtins.__import__, in torch's functions and in that thread only; torch._dynamo and "
        "torch._higher_order_ops.triton_kernel_wrap are stand-ins until something imports them; while tnp traces",
        test=_LIGHT,
    ),
    Row(
        "light_imports",
        "torch.fx.experimental.symbolic_shapes:_iterate_nodes",
        "one of the checks above",
        torch=">=2.13",
        test=_LIGHT,
    ),
    Row(
        "traces",
        "torch.fx._lazy_graph_module torch.fx._lazy_graph_module._LazyGraphModule "
        "torch.fx._lazy_graph_module:_make_graph_module",
        "torch writes and compiles Python code for each graph that it makes; of a trace's graphs few ever run",
        patched="the class of the graphs that make_fx returns; while tnp traces, in that thread",
        test=_TRACES + "test_code_of_graphs_is_written_when_they_run",
    ),
    Row(
        "traces",
        "torch.fx.proxy:_create_arg_bypass",
        "a graph of torch can't hold a random generator",
        patched="an entry for torch.Generator; while tnp traces or compiles, in that thread",
        torch="<2.13",
        link=_ISSUE + "88574",
        test=_PATCHES + "test_torch_is_as_it_was_after_tnp_compiled",
    ),
    Row(
        "traces",
        "torch._higher_order_ops.effects._EffectType torch._higher_order_ops.effects._register_effectful_op",
        "torch removes the checks of torch.linalg as dead code, so cholesky of an indefinite matrix returns a result",
        patched="the entry of _linalg_check_errors; while tnp traces or compiles",
        torch="<2.13",
        link=_ISSUE + "182965",
        test=_PATCHES + "test_torch_is_as_it_was_after_tnp_compiled",
    ),
]
